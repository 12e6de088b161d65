-- function: park returns table (tenant text, project text, topic text, event_id text, cause text)
-- Returns the cause of the event that is parked under each key.
begin
    {nobody_erased};
    return query
    with wanted as (
        select * from unnest(:tenant::text[], :project::text[], :topic::text[], :event_id::text[], :conversation_id::text[],
            :original_message_id::text[], :record_key::bytea[], :value::bytea[], :cause::text[], :traceparent::text[],
            :log_time::bigint[], :parked_at::bigint[])
            as p (tenant, project, topic, event_id, conversation_id, original_message_id, record_key, value, cause,
                  traceparent, log_time, parked_at)
    ), added as (
        insert into parked (tenant, project, topic, event_id, conversation_id, original_message_id, record_key, value,
                            cause, traceparent, log_time, parked_at)
        select * from wanted on conflict do nothing returning tenant, project, topic, event_id, cause
    )
    select tenant, project, topic, event_id, cause from added
    union
    select p.tenant, p.project, p.topic, p.event_id, p.cause from parked p
    join wanted using (tenant, project, topic, event_id);
end

-- name: parked_under
select tenant, project, topic, event_id, cause from parked
join unnest(:tenant::text[], :project::text[], :topic::text[], :event_id::text[])
    as wanted (tenant, project, topic, event_id)
using (tenant, project, topic, event_id)

-- fragment: parked_event
p.tenant, p.project, p.topic, p.event_id, p.conversation_id, p.original_message_id, p.record_key, p.value,
    p.cause, p.traceparent, p.log_time, p.parked_at

-- fragment: parked_with_message
select {parked_event}, m.message_id, m.turn_id, m.sender_id, m.sender_type, m.agent_id, m.content, m.truncated, m.about,
    m.version, m.reply_to, m.thread, m.has_text, m.at, m.sequence, m.first_log_time, m.log_offset, {candidates}
from parked p join messages m on m.tenant = p.tenant and m.project = p.project
    and m.conversation_id = p.conversation_id and m.message_id = p.original_message_id

-- name: released_by
{parked_with_message}
where (p.tenant, p.project, p.conversation_id, p.original_message_id) in (
    select * from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :message_id::text[]))
order by p.log_time, p.cause

-- name: releasable
{parked_with_message}
order by p.log_time limit :limit

-- name: has_parked
select exists (select from parked)

-- name: count_parked
select count(*) from parked

-- name: parked_bytes
select tenant, sum(octet_length(value))::bigint as bytes from parked where tenant = any(:tenants) group by tenant

-- name: expired
select {parked_event} from parked p where p.parked_at < :before order by p.parked_at limit :limit

-- name: scan_parked
select {parked_event} from parked p
where p.tenant = :tenant and (p.project, p.topic, p.event_id) > (:project, :topic, :identity)
order by p.project, p.topic, p.event_id limit :limit

-- name: unpark
delete from parked where (tenant, project, topic, event_id) in (
    select * from unnest(:tenant::text[], :project::text[], :topic::text[], :event_id::text[]))
