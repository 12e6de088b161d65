-- fragment: is_later
excluded.version > m.version

-- fragment: is_earlier
excluded.at < m.at

-- fragment: is_elsewhere
excluded.thread collate "C" > m.thread collate "C"

-- fragment: is_reply_to_another
(excluded.reply_to is not null and (m.reply_to is null
    or excluded.reply_to collate "C" > m.reply_to collate "C"))

-- function: index_messages returns table ({key_typed})
-- Returns the keys of added or changed messages.
begin
    {nobody_erased};
    return query
    insert into messages as m ({key_columns}, {said_columns}, {placed_columns})
    select * from unnest({key_arrays}, {said_arrays}, {placed_arrays})
    on conflict ({key_columns}) do update set
        {said_set_if(is_later, m)},
        at = least(m.at, excluded.at), version = greatest(m.version, excluded.version),
        stood_at = case when {is_earlier} then (m.at || m.stood_at)[1:{places_kept}] else m.stood_at end,
        thread = case when {is_elsewhere} then excluded.thread else m.thread end,
        stood_in = case when {is_elsewhere} then (m.thread || m.stood_in)[1:{places_kept}] else m.stood_in end,
        reply_to = case when {is_reply_to_another} then excluded.reply_to else m.reply_to end,
        versions = m.versions + case when {is_earlier} or {is_elsewhere} or {is_reply_to_another}
            or ({is_later} and ({said_of(excluded)}) is distinct from ({said_of(m)}))
            then 1 else 0 end
    where {is_earlier} or {is_later} or {is_elsewhere} or {is_reply_to_another}
    returning {key_of(m)};
end

-- fragment: indexed_message
m.message_id, m.stood_at, m.emitted_turn_id, m.emitted_agent_id, m.stood_in, {said_of(m)}, {placed_of(m)}

-- fragment: is_in_conversation(row)
m.tenant = {row}.tenant and m.project = {row}.project and m.conversation_id = {row}.conversation_id

-- fragment: is_in_thread(row, place)
{is_in_conversation(row)} and hashtextextended(m.thread, 0) = hashtextextended({place}.thread, 0)
    and m.thread = {place}.thread

-- name: messages_around
-- Messages around each place with the number `n`: the message at the place, and :reach messages before and after it.
with conversations as (
        -- One row per conversation. Everything else is a lateral join, because a join of two common table expressions uses
    -- no index and takes quadratic time.
    select tenant, project, conversation_id, array_agg(n) as numbers, array_agg(thread) as threads,
        array_agg(at) as times, array_agg(message_id) as messages
    from unnest(:n::int[], :tenant::text[], :project::text[], :conversation_id::text[], :at::bigint[],
        :message_id::text[], :thread::text[])
        as place (n, tenant, project, conversation_id, at, message_id, thread)
    group by tenant, project, conversation_id
)
select message.*, version_count.evaluation, {current_epoch} as epoch
from conversations conversation
cross join lateral (
    select sum(m.versions)::bigint as evaluation from messages m where {is_in_conversation(conversation)}
) version_count
cross join lateral (
    with places as (
                -- Each place with the previous and the next place, so that no message is read for two places.
        select *, lag(at, 1, -1::bigint) over by_time as place_before, lag(message_id, 1, '') over by_time as id_before,
            lead(at, 1, 9223372036854775807) over by_time as place_after, lead(message_id, 1, '') over by_time as id_after
        from unnest(conversation.numbers, conversation.threads, conversation.times, conversation.messages)
            as place (n, thread, at, message_id)
        window by_time as (partition by n order by at, message_id)
    ), around_places as (
        select place.n, near.* from places place cross join lateral (
                        -- Messages between the place and the previous one, then from the place to the next one.
            (select {indexed_message} from messages m
             where {is_in_thread(conversation, place)} and (m.at, m.message_id) < (place.at, place.message_id)
                and (m.at, m.message_id) > (place.place_before, place.id_before)
             order by m.at desc, m.message_id desc limit :reach)
            union all
            (select {indexed_message} from messages m
             where {is_in_thread(conversation, place)} and (m.at, m.message_id) >= (place.at, place.message_id)
                and (m.at, m.message_id) < (place.place_after, place.id_after)
             order by m.at, m.message_id limit :reach + 1)
        ) near
    ), thread_roots as (
                -- The root message of a thread may be stored as a message of the channel.
        select in_thread.n, root.*
        from (select distinct * from unnest(conversation.numbers, conversation.threads)) as in_thread (n, thread)
        cross join lateral (
            select {indexed_message} from messages m
            where {is_in_conversation(conversation)} and m.message_id = in_thread.thread
              and m.thread <> in_thread.thread limit 1
        ) root
        where in_thread.thread <> ''
    )
    select distinct on (n, at, message_id) * from (
        select * from around_places union all select * from thread_roots
    ) either
    order by n, at, message_id
) message
order by n, at, message_id

-- name: places_of_messages
select {key_columns}, m.at || m.stood_at as places,
    m.thread || m.stood_in || case when exists (
        select from messages o where o.tenant = m.tenant and o.project = m.project
            and o.conversation_id = m.conversation_id and o.thread = m.message_id
            and hashtextextended(o.thread, 0) = hashtextextended(m.message_id, 0)
    ) then array[m.message_id] else '{}' end as threads
from messages m
join unnest({key_arrays}) as wanted ({key_columns}) using ({key_columns})

-- name: note_emissions
update messages m set emitted_turn_id = e.turn_id, emitted_agent_id = e.agent_id
from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :message_id::text[], :sender_id::text[],
    :turn_id::text[], :agent_id::text[])
    as e (tenant, project, conversation_id, message_id, sender_id, turn_id, agent_id)
where m.tenant = e.tenant and m.project = e.project and m.conversation_id = e.conversation_id
  and m.message_id = e.message_id and m.sender_id = e.sender_id
  and (m.emitted_turn_id, m.emitted_agent_id) is distinct from (e.turn_id, e.agent_id)

-- name: is_outdated
select exists (
    select from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :evaluation::bigint[])
        as s (tenant, project, conversation_id, evaluation)
    where s.evaluation < (select sum(m.versions) from messages m where {is_in_conversation(s)})
)
