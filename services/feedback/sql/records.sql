-- fragment: record_columns
feedback_id, tenant, project, conversation_id, source, user_id, agent_id, source_id, feedback_type, origin, slots, live,
    reaction, revision, created_revision, overruled_by

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
with wanted as (
    select * from unnest(:feedback_id::uuid[], :tenant::text[], :project::text[], :conversation_id::text[],
        :source::text[], :user_id::text[], :agent_id::text[], :source_id::text[], :feedback_type::text[],
        :origin::text[], :slots::jsonb[], :live::bool[], :reaction::text[], :revision::bigint[],
        :created_revision::bigint[], :overruled_by::uuid[], :loaded_revision::bigint[])
        as w ({record_columns}, loaded_revision)
), updated as (
    update feedback f set slots = w.slots, live = w.live, reaction = w.reaction, revision = w.revision,
        created_revision = w.created_revision, overruled_by = w.overruled_by, origin = w.origin
    from wanted w where f.feedback_id = w.feedback_id and f.revision = w.loaded_revision and w.loaded_revision > 0
    returning f.feedback_id
), inserted as (
    insert into feedback ({record_columns})
    select {record_columns} from wanted where loaded_revision = 0 order by feedback_id
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
