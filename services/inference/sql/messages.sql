-- fragment: is_later
excluded.version > m.version

-- fragment: is_earlier
excluded.position < m.position

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
    insert into messages as m ({key_columns}, {said_columns}, {order_columns})
    select * from unnest({key_arrays}, {said_arrays}, {order_arrays})
    on conflict ({key_columns}) do update set
        {said_set_if(is_later, m)},
        version = greatest(m.version, excluded.version), position = least(m.position, excluded.position),
        thread = case when {is_elsewhere} then excluded.thread else m.thread end,
        reply_to = case when {is_reply_to_another} then excluded.reply_to else m.reply_to end,
        versions = m.versions + case when {is_earlier} or {is_elsewhere} or {is_reply_to_another}
            or ({is_later} and ({said_of(excluded)}) is distinct from ({said_of(m)}))
            then 1 else 0 end
    where {is_earlier} or {is_later} or {is_elsewhere} or {is_reply_to_another}
    returning {key_of(m)};
end

-- fragment: indexed_message
m.message_id, m.at, {said_of(m)}, {order_of(m)}

-- fragment: is_in_conversation(row)
m.tenant = {row}.tenant and m.project = {row}.project and m.conversation_id = {row}.conversation_id

-- fragment: message_of(key)
-- The message `m` of a key. A subquery with an offset is planned by itself, so each key is looked up. A join that is
-- planned while the table is empty would read the whole table for ever.
lateral (select * from messages m where m.message_id = {key}.message_id and {is_in_conversation(key)} offset 0) m

-- fragment: is_in_thread(row, thread)
{is_in_conversation(row)} and hashtextextended(m.thread, 0) = hashtextextended({thread}, 0) and m.thread = {thread}

-- name: messages_around
-- In the thread or channel of each message with one of the keys: this message, and those before and after it.
with changed as (
    select {key_of(m)}, m.thread, m.position
    from unnest({key_arrays}) as wanted ({key_columns}) cross join {message_of(wanted)}
), conversations as (
        -- One row per conversation. Everything else is a lateral join, because a join of two common table expressions uses
    -- no index and takes quadratic time.
    select tenant, project, conversation_id, array_agg(thread) as threads, array_agg(position) as positions,
        array_agg(message_id) as messages
    from (
        select * from changed
        union all
                -- The messages of a thread depend on its root, which is in the channel.
        select {key_of(c)}, c.message_id, c.position from changed c
        where exists (select from messages m where {is_in_thread(c, c.message_id)} offset 0)
    ) scoped
    group by tenant, project, conversation_id
)
select conversation.tenant, conversation.project, conversation.conversation_id, message.*, version_count.evaluation
from conversations conversation
cross join lateral (
    select sum(m.versions)::bigint as evaluation from messages m where {is_in_conversation(conversation)}
) version_count
cross join lateral (
    with places as (
                -- Each message with the previous and the next one of its scope, so that no message is read twice.
        select *, lag(position, 1, ''::bytea) over in_order as position_before,
            lag(message_id, 1, '') over in_order as id_before,
            lead(position, 1, '\xff'::bytea) over in_order as position_after,
            lead(message_id, 1, '') over in_order as id_after
        from unnest(conversation.threads, conversation.positions, conversation.messages)
            as place (scope, position, message_id)
        window in_order as (partition by scope order by position, message_id)
    ), around_places as (
        select place.scope, near.* from places place cross join lateral (
                        -- Messages between the place and the previous one, then from the place to the next one.
            (select {indexed_message} from messages m
             where {is_in_thread(conversation, place.scope)} and (m.position, m.message_id) < (place.position, place.message_id)
                and (m.position, m.message_id) > (place.position_before, place.id_before)
             order by m.position desc, m.message_id desc limit :before)
            union all
            (select {indexed_message} from messages m
             where {is_in_thread(conversation, place.scope)} and (m.position, m.message_id) >= (place.position, place.message_id)
                and (m.position, m.message_id) < (place.position_after, place.id_after)
             order by m.position, m.message_id limit :after + 1)
        ) near
    ), thread_roots as (
        select in_thread.scope, root.*
        from (select distinct scope from places where scope <> '') in_thread cross join lateral (
            select {indexed_message} from messages m
            where {is_in_conversation(conversation)} and m.message_id = in_thread.scope and m.thread <> in_thread.scope
        ) root
    )
    select distinct on (scope, position, message_id) * from (
        select * from around_places union all select * from thread_roots
    ) either
    order by scope, position, message_id
) message
order by tenant, project, conversation_id, scope, position, message_id

-- name: find_message
select {indexed_message} from messages m where m.message_id = :message_id and m.conversation_id = :conversation_id
    and m.tenant = :tenant and m.project = :project

-- name: messages_before
-- The root message of a thread may be stored as a message of the channel.
with conversation as (
    select :tenant::text as tenant, :project::text as project, :conversation_id::text as conversation_id, :thread::text as thread
)
(select {indexed_message} from conversation c join messages m on {is_in_thread(c, c.thread)}
 where m.position < :position order by m.position desc, m.message_id desc limit :limit)
union
(select {indexed_message} from conversation c join messages m on {is_in_conversation(c)} and m.message_id = c.thread)
order by position, message_id
