-- name: load_records
select {record_columns} from feedback where feedback_id = any(:feedback_ids)

-- name: record_revisions
select feedback_id, revision from feedback where feedback_id = any(:feedback_ids)

-- name: scan_records
select {record_columns} from feedback where feedback_id > :after and slots is not null
order by feedback_id limit :limit

-- name: scan_records_of_person
select {record_columns} from feedback where tenant = :tenant and user_id = :user_id and feedback_id > :after
order by feedback_id limit :limit

-- name: save_records
with given as (
    select * from unnest({record_arrays}, :loaded_revision::bigint[]) as record ({record_columns}, loaded_revision)
), updated as (
    update feedback stored set slots = given.slots, live = given.live, reaction = given.reaction,
        revision = given.revision, created_revision = given.created_revision, overruled_by = given.overruled_by,
        origin = given.origin
    from given
    where stored.feedback_id = given.feedback_id and stored.revision = given.loaded_revision and loaded_revision > 0
    returning stored.feedback_id
), inserted as (
    insert into feedback ({record_columns})
    select {record_columns} from given where loaded_revision = 0 order by feedback_id
    on conflict do nothing
    returning feedback_id
)
select feedback_id from updated union all select feedback_id from inserted

-- name: records_on_turns
-- The turn is in the only slot's payload, which the index `feedback_on_turn` covers.
select {record_columns} from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
    as t (of_tenant, of_project, of_conversation, of_turn)
join feedback on conversation_id = of_conversation and slots -> '' -> 'payload' ->> 'turn_id' = of_turn
    and tenant = of_tenant and project = of_project and source in ('inference', {review})

-- name: count_records
select slots is null as forgotten, live, feedback_type, reaction, count(*) as n from feedback
group by slots is null, live, feedback_type, reaction
