-- compatible_from: 0001
-- Notices to the people who rejected answers of an issue that was resolved. A rebuild of the reports keeps them.
alter table issues add column resolution integer not null default 0, add column resolved_at bigint;
update issues set resolution = 1, resolved_at = state_at where state in ('resolved', 'regressed');
comment on column issues.resolution is 'Number of times that the issue was resolved';
comment on column issues.resolved_at is 'Time of the last resolution';
create index issues_resolved on issues (resolved_at) where state = 'resolved';

create table resolution_notices (
    issue_id bigint not null,
    resolution integer not null,
    user_id text not null,
    tenant text not null,
    project text not null,
    agent_id text not null,
    resolved_in text,
    resolved_at bigint not null,
    by_person boolean not null,
    rejected_at bigint not null,
    turn_count integer not null,
    conversation_ids text[] not null,
    turn_ids text[] not null,
    announced boolean not null default false,
    primary key (issue_id, resolution, user_id)
);
comment on table resolution_notices is 'Who is told, or was told, that an issue was resolved, as in feedback.resolved';
comment on column resolution_notices.rejected_at is 'Time of the person''s last rejection before the resolution';
create index resolution_notices_to_announce on resolution_notices (resolved_at) where not announced;
create index resolution_notices_of_person on resolution_notices (user_id, tenant);
