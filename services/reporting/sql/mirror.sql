-- name: lock_artifacts
select pg_try_advisory_lock(hashtext('agent-feedback artifacts'))

-- name: unlock_artifacts
select pg_advisory_unlock(hashtext('agent-feedback artifacts'))

-- fragment: same_turn(a, b)
{a}.tenant = {b}.tenant and {a}.project = {b}.project
    and {a}.conversation_id = {b}.conversation_id and {a}.turn_id = {b}.turn_id

-- name: stale_turns
select id, tenant, project, conversation_id, turn_id from changed_turns
where reader = 'mirror' order by id limit :limit

-- name: stale_hosted_turns
select id, tenant, project, conversation_id, turn_id from changed_turns s
where reader = 'mirror' and exists (select from hosted_artifacts h where {same_turn(h, s)})
order by id limit :limit

-- fragment: stale_turns_given
unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
    as t (tenant, project, conversation_id, turn_id)

-- name: artifacts_of_turns
-- Look up each turn in the view separately. For a plain join, PostgreSQL might compute the whole view first.
select t.*, a.id, a.kind, a.occurred_at, a.text, a.payload from {stale_turns_given}
cross join lateral (
    select * from conv_messages a
    where {same_turn(a, t)} and (a.kind = 'turn.log.reaction' or :turn_logs::boolean) offset 0
) a

-- name: hosted_artifacts
select t.*, h.artifact, h.name, h.digest, h.state from {stale_turns_given}
join hosted_artifacts h on {same_turn(h, t)} where h.state in ('writing', 'current')

-- name: insert_artifacts
insert into hosted_artifacts (tenant, project, conversation_id, turn_id, artifact, name, digest, state)
select *, 'writing' from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[],
    :artifact::text[], :name::text[], :digest::bytea[])

-- name: mark_written
update hosted_artifacts set state = 'current' where name = any(:names::text[]) and state = 'writing'

-- name: mark_outdated
update hosted_artifacts set state = 'doomed', artifact = '', digest = null, due_at = null
where name = any(:names::text[])

-- name: artifacts_to_delete
select name, state from hosted_artifacts where state = 'doomed' or state = 'late' and due_at <= :now limit :limit

-- name: note_deleted
with gone as (delete from hosted_artifacts where name = any(:names::text[]) and state = 'late')
update hosted_artifacts set state = 'late', due_at = :due_at where name = any(:names::text[]) and state = 'doomed'

-- name: count_artifacts_waiting
select (select count(*) from changed_turns where reader = 'mirror') as marks,
       (select count(*) from hosted_artifacts where state = 'doomed') as doomed

-- name: delete_stale_turns
delete from changed_turns where reader = 'mirror' and id = any(:ids::bigint[])

-- name: lock_store
lock table artifact_store in exclusive mode

-- name: current_store
select url, turn_logs from artifact_store

-- name: has_hosted
select exists (select from hosted_artifacts)

-- name: wait_for_writers
lock table feedbacks, messages in share mode

-- name: delete_store
delete from artifact_store

-- name: delete_marks
delete from changed_turns where reader = 'mirror'

-- name: set_store
insert into artifact_store (url, turn_logs) values (:url, :turn_logs)

-- name: unmarked_store
select turn_logs from artifact_store where not is_marked for update

-- name: mark_all_turns
insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
(
    select 'mirror', tenant, project, conversation_id, turn_id from feedbacks where reaction is not null
    union
    select 'mirror', tenant, project, conversation_id, turn_id from hosted_artifacts
    union
    select 'mirror', tenant, project, conversation_id, turn_id from messages
    where :turn_logs::boolean and turn_id is not null
) except select reader, tenant, project, conversation_id, turn_id from changed_turns where reader = 'mirror'

-- name: note_marked_store
update artifact_store set is_marked = true
