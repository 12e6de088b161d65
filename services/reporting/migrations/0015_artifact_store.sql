-- Where artifacts are mirrored to, if anywhere. The marks below are only made while there is a row.
create table artifact_store (
    url text not null,
    turn_logs boolean not null
);
comment on table artifact_store is 'The object store that artifacts are mirrored to, and whether turn logs are. At most one row.';

create table hosted_artifacts (
    name text primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    artifact text not null,
    digest bytea,
    state text not null,
    due_at bigint
);
comment on table hosted_artifacts is 'Every object that may lie in the artifact store, entered before it is written; no text';
comment on column hosted_artifacts.state is
    'writing; current; doomed: to be deleted; late: deleted, and once more at due_at, for a write may arrive late';
create index hosted_artifacts_turn on hosted_artifacts (conversation_id, turn_id);
create index hosted_artifacts_doomed on hosted_artifacts (state, due_at) where state in ('doomed', 'late');

create table stale_turns (
    id bigint generated always as identity primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null
);
comment on table stale_turns is 'Turns whose artifacts have changed since they were mirrored';

create table held_receipts (
    id bigint generated always as identity primary key,
    tenant text not null,
    topic text not null,
    key text not null,
    value bytea not null,
    headers text not null
);
comment on table held_receipts is 'Receipts of erasures that wait until the artifact store has deleted what they are about';

create function mark_stale_turns() returns trigger language plpgsql as $$
begin
    if exists (select from artifact_store where turn_logs or tg_table_name = 'feedbacks') then
        insert into stale_turns (tenant, project, conversation_id, turn_id)
        select distinct tenant, project, conversation_id, turn_id from changed where turn_id is not null;
    end if;
    return null;
end
$$;
create trigger stale_turn_by_insert after insert on feedbacks referencing new table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_delete after delete on feedbacks referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_of after update on feedbacks referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_to after update on feedbacks referencing new table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_insert after insert on messages referencing new table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_delete after delete on messages referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_of after update on messages referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_to after update on messages referencing new table as changed
    for each statement execute function mark_stale_turns();
