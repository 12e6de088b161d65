-- function: park returns table ({parked_key_typed}, cause text)
-- Returns the cause of the event that is parked under each key. Events for which their tenant has no room are not parked.
begin
    {nobody_erased};
    return query
    with wanted as (
        select * from unnest({parked_key_arrays}, {parked_arrays}) as p ({parked_key_columns}, {parked_columns})
    ), sizes as materialized (
        select p.tenant, sum(octet_length(p.value)) as bytes from parked p
        where p.tenant = any(:tenant::text[]) group by p.tenant
    ), added as (
        insert into parked ({parked_key_columns}, {parked_columns})
        select {parked_key_columns}, {parked_columns}
        from (select w.*, sum(octet_length(w.value)) over (partition by w.tenant order by w.log_time, w.cause) as bytes
              from wanted w) w
        where w.bytes + coalesce((select s.bytes from sizes s where s.tenant = w.tenant), 0) <= :most_bytes::bigint
        on conflict do nothing returning {parked_key_columns}, cause
    )
    select * from added
    union
    select {parked_key_of(p)}, p.cause from parked p join wanted using ({parked_key_columns});
end

-- fragment: parked_event
{parked_key_of(p)}, {parked_of(p)}

-- fragment: parked_with_message
select {parked_event}, m.message_id, m.turn_id, m.sender_id, m.sender_type, m.agent_id, m.content, m.truncated, m.about,
    m.version, m.reply_to, m.thread, m.has_text, m.at, m.sequence, m.first_log_time, m.log_offset, {candidates}
from parked p join messages m on m.tenant = p.tenant and m.project = p.project
    and m.conversation_id = p.conversation_id and m.message_id = p.original_message_id

-- name: released_by
{parked_with_message}
where (p.tenant, p.project, p.conversation_id, p.original_message_id) in (
    select * from unnest({key_arrays}))
order by p.log_time, p.cause

-- name: releasable
{parked_with_message}
order by p.log_time limit :limit

-- name: count_parked
select count(*) from parked

-- name: expired
select {parked_event} from parked p where p.parked_at < :before order by p.parked_at limit :limit

-- name: unpark
delete from parked where ({parked_key_columns}) in (select * from unnest({parked_key_arrays}))

-- name: erase_parked
delete from parked p using unnest(:tenant::text[], :user_id::text[], :until::bigint[]) as erased (tenant, user_id, until)
where p.user_id = erased.user_id and p.tenant = erased.tenant and p.said_at <= erased.until
