-- compatible_from: 0001
-- Suspect verdicts: probably spam, or beyond a person's limit. They are kept and listed, but count nowhere.
alter table feedbacks add column suspect text;
comment on column feedbacks.suspect is 'Why the verdict does not count: burst, rate or reviewer; null if it is not suspect';
alter table replies add column suspect text;
comment on column replies.suspect is 'Always null: no rule marks other feedback';
create index feedbacks_suspect on feedbacks (tenant, project, occurred_at desc) where suspect is not null;
-- One person's verdicts by time.
create index feedbacks_giver on feedbacks (user_id, occurred_at) where reaction is not null and origin = 'user';

create table suspect_decisions (
    feedback_id uuid primary key,
    tenant text not null,
    project text not null,
    suspect boolean not null,
    decided_by text not null,
    decided_at bigint not null
);
comment on table suspect_decisions is 'Decisions of reviewers on suspect verdicts; they stand against the rules';

create table suspect_changes (
    id bigint generated always as identity primary key,
    tenant text not null,
    project text not null,
    user_id text not null,
    minute bigint not null
);
comment on table suspect_changes is 'Minutes in which verdicts of a person have changed since the rules were applied';

create function mark_suspect_changes() returns trigger language plpgsql as $$
begin
    insert into suspect_changes (tenant, project, user_id, minute)
    select distinct tenant, project, user_id, occurred_at / 60000000 from changed
    where reaction is not null and origin = 'user' and user_type <> 'agent';
    return null;
end
$$;
create trigger suspect_by_insert after insert on feedbacks referencing new table as changed
    for each statement execute function mark_suspect_changes();

-- A mark itself is no change.
create function mark_suspect_updates() returns trigger language plpgsql as $$
begin
    insert into suspect_changes (tenant, project, user_id, minute)
    select distinct c.tenant, c.project, c.user_id, c.occurred_at / 60000000
    from before b join after a using (feedback_id)
    cross join lateral (
        values (b.tenant, b.project, b.user_id, b.occurred_at, b.reaction),
            (a.tenant, a.project, a.user_id, a.occurred_at, a.reaction)
    ) as c (tenant, project, user_id, occurred_at, reaction)
    where c.reaction is not null and a.origin = 'user' and a.user_type <> 'agent'
      and (b.occurred_at, b.turn_id, b.reaction, b.emoji, b.rating, b.text, b.tags, b.correction)
          is distinct from (a.occurred_at, a.turn_id, a.reaction, a.emoji, a.rating, a.text, a.tags, a.correction);
    return null;
end
$$;
create trigger suspect_by_update after update on feedbacks referencing old table as before new table as after
    for each statement execute function mark_suspect_updates();

create view effective_or_suspect as
select f.*
from feedbacks f
where f.reaction is not null
  and (f.origin = 'machine'
    or f.origin = 'reviewer' and not exists (
        select from feedbacks newer
        where newer.conversation_id = f.conversation_id and newer.turn_id = f.turn_id and newer.origin = 'reviewer'
          and newer.tenant = f.tenant and newer.project = f.project and newer.reaction is not null
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id))
    or f.origin = 'user' and not exists (
        select from feedbacks newer
        where newer.slot = f.slot
          and (newer.feedback_type = 'explicit' or newer.reaction is not null)
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)));
comment on view effective_or_suspect is 'The reactions that count, and the suspect ones that would';

create or replace view effective as select * from effective_or_suspect where suspect is null;

create view suspected as select * from effective_or_suspect where suspect is not null;
comment on view suspected is 'Suspect reactions that would count';
