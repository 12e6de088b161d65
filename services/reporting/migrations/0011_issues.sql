-- compatible_from: 0001
-- Issues: rejected turns of an agent, grouped by topic. A rebuild of the reports keeps them, with what people decided.
create table issues (
    id bigint generated always as identity primary key,
    tenant text not null,
    project text not null,
    agent_id text not null,
    encoder text not null,
    -- Half-precision vectors; null until they are computed from the turns that are left.
    centre bytea,
    topic bytea,
    radius real not null default 1,
    topic_radius real not null default 1,
    words text[] not null default '{}',
    state text not null default 'open',
    resolved_in text,
    state_at bigint not null,
    assignee text,
    note text,
    merged_into bigint references issues (id),
    turns integer not null default 0,
    people integer not null default 0,
    first_at bigint,
    last_at bigint,
    versions text[] not null default '{}'
);
comment on table issues is 'Topics of rejected turns by agent; turns, people, first_at, last_at and versions count issue_turns';
comment on column issues.centre is 'Mean vector of its turns; derived from people''s texts';
comment on column issues.topic is 'Mean vector of its questions';
comment on column issues.radius is 'Minimum similarity to the centre at which another turn joins';
comment on column issues.state is 'open, resolved, muted, regressed';
comment on column issues.state_at is 'Time of the last change of the state';
create index issues_agent on issues (tenant, project, agent_id);

create table issue_turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text not null,
    agent_version text,
    user_id text not null,
    asker_id text,
    by_person boolean not null,
    occurred_at bigint not null,
    asked_at bigint not null,
    encoder text not null,
    vector bytea not null,
    question bytea not null,
    words text[] not null,
    issue_id bigint references issues (id),
    nearness real,
    primary key (conversation_id, turn_id, tenant, project)
);
comment on table issue_turns is 'Turns whose rejection counts, with vectors and words of their texts; a turn without issue waits for one';
comment on column issue_turns.user_id is 'Who rejected the answer';
comment on column issue_turns.asker_id is 'Who asked the question; null if unknown';
comment on column issue_turns.occurred_at is 'Time of the rejection';
comment on column issue_turns.asked_at is 'Time of the question, or of the rejection if the question is unknown';
comment on column issue_turns.nearness is 'Similarity to the issue''s centre';
create index issue_turns_issue on issue_turns (issue_id, occurred_at) include (user_id);
create index issue_turns_waiting on issue_turns (tenant, project, agent_id, occurred_at) where issue_id is null;
create index issue_turns_agent on issue_turns (tenant, project, agent_id, occurred_at);
create index issue_turns_user on issue_turns (user_id, tenant);
create index issue_turns_asker on issue_turns (asker_id, tenant) where asker_id is not null;

create table issue_agents (
    tenant text not null,
    project text not null,
    agent_id text not null,
    grouped_at bigint not null,
    left_waiting integer not null,
    primary key (tenant, project, agent_id)
);
comment on table issue_agents is 'Last grouping of an agent''s rejected turns, and the number of turns that it left without issue';

create table issue_versions (
    tenant text not null,
    project text not null,
    agent_id text not null,
    agent_version text not null,
    first_at bigint not null,
    primary key (agent_id, agent_version, tenant, project)
);
comment on table issue_versions is 'First answer of each version of an agent with issues: orders the versions';

create table issue_counts (
    issue_id bigint not null references issues (id) on delete cascade,
    tenant text not null,
    project text not null,
    agent_version text,
    day bigint not null,
    turns integer not null,
    rejected integer not null
);
comment on table issue_counts is 'Answered turns on the topic of an issue by version and day, and how many of them are its rejected turns';
create index issue_counts_issue on issue_counts (issue_id);

create table rejection_changes (
    id bigint generated always as identity primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null
);
comment on table rejection_changes is 'Turns whose rejection may have begun or ceased to count since they were looked at';

create function mark_rejections() returns trigger language plpgsql as $$
begin
    -- The turn alone, as in mark_stale_hours: a kept plan may otherwise use tenant and project.
    insert into rejection_changes (tenant, project, conversation_id, turn_id)
    select distinct c.tenant, c.project, c.conversation_id, c.turn_id from changed c
    -- A limit, because a plan of `exists` may read the whole table instead of each turn.
    where c.reaction = 'not_ok' or (
        select true from feedbacks f
        where f.conversation_id = c.conversation_id and f.turn_id = c.turn_id and f.reaction = 'not_ok' limit 1);
    return null;
end
$$;
create trigger rejection_by_insert after insert on feedbacks referencing new table as changed
    for each statement execute function mark_rejections();
create trigger rejection_by_delete after delete on feedbacks referencing old table as changed
    for each statement execute function mark_rejections();
create trigger rejection_by_update_of after update on feedbacks referencing old table as changed
    for each statement execute function mark_rejections();
create trigger rejection_by_update_to after update on feedbacks referencing new table as changed
    for each statement execute function mark_rejections();
