-- name: lock_aggregated_verdicts
select feedback_id, tenant, project, conversation_id, turn_id from aggregated_verdicts
where feedback_id = any(:feedback_ids::uuid[]) order by feedback_id for update

-- name: upsert_aggregated_verdicts
insert into aggregated_verdicts as held ({verdict_columns})
select * from unnest({verdict_arrays})
on conflict (feedback_id) do update set {verdict_set}
where held.revision < excluded.revision
    or (held.revision = excluded.revision and held.user_id is not null and excluded.user_id is null)
returning feedback_id

-- name: mark_aggregated_turns
insert into aggregated_turns as held (tenant, project, conversation_id, turn_id, changes)
select * from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[], :changes::bigint[])
on conflict (conversation_id, turn_id, tenant, project) do update
set changes = held.changes + excluded.changes, changed_at = clock_timestamp()

-- name: due_aggregated_turns
select tenant, project, conversation_id, turn_id from aggregated_turns
where changes >= :after or changed_at <= clock_timestamp() - make_interval(secs => :quiet)
order by changed_at limit :limit for update skip locked

-- fragment: turns_given
unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
    as given (of_tenant, of_project, of_conversation, of_turn)

-- fragment: on_given_turn
conversation_id = of_conversation and turn_id = of_turn and tenant = of_tenant and project = of_project

-- name: verdicts_on_aggregated_turns
select {verdict_columns} from {turns_given} join aggregated_verdicts on {on_given_turn} and user_id is not null

-- name: aggregates_of_turns
select {aggregate_columns} from {turns_given} join aggregates on {on_given_turn}

-- name: upsert_aggregates
insert into aggregates ({aggregate_columns})
select * from unnest({aggregate_arrays})
on conflict (aggregate_id) do update set {aggregate_set}, announced = false

-- name: unmark_aggregated_turns
delete from aggregated_turns using {turns_given} where {on_given_turn}

-- name: unannounced_aggregates
select {aggregate_columns} from aggregates where not announced order by aggregate_id limit :limit

-- name: mark_aggregates_announced
-- Locks the rows in order of id, like `upsert_aggregates`, to avoid deadlocks.
with sent as (
    select * from unnest(:aggregate_id::uuid[], :revision::bigint[]) as sent (aggregate_id, revision)
), locked as materialized (
    select a.aggregate_id from aggregates a where a.aggregate_id in (select aggregate_id from sent)
    order by a.aggregate_id for update
)
update aggregates held set announced = held.revision = sent.revision
from sent join locked using (aggregate_id)
where held.aggregate_id = sent.aggregate_id

-- name: erase_aggregated_verdicts
-- The turns are marked, to be aggregated again. The stub's revision rejects announcements that the erasure covers.
with erased as (
    select feedback_id, tenant, project, conversation_id, turn_id from aggregated_verdicts
    where user_id = :user_id and tenant = :tenant and occurred_at <= :until order by feedback_id limit :limit for update
), marked as (
    insert into aggregated_turns as held (tenant, project, conversation_id, turn_id, changes)
    select tenant, project, conversation_id, turn_id, count(*) from erased
    group by conversation_id, turn_id, tenant, project order by tenant, project, conversation_id, turn_id
    on conflict (conversation_id, turn_id, tenant, project) do update
    set changes = held.changes + excluded.changes, changed_at = clock_timestamp()
)
update aggregated_verdicts v set (tenant, project, conversation_id, turn_id, agent_id, user_id, origin, feedback_type,
    reaction, value, occurred_at) = (null, null, null, null, null, null, null, null, null, null, null)
from erased where v.feedback_id = erased.feedback_id
