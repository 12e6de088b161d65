-- function: index_messages returns table ({key_typed}, repeated boolean)
begin
    {nobody_erased};
    return query
    insert into messages as m ({key_columns}, {said_columns}, {stored_columns})
    select * from unnest({key_arrays}, {said_arrays}, {stored_arrays})
    on conflict ({key_columns}) do update set {said_set}, {stored_set},
        repeated = ({said_of(m)}, m.version < :from_messages::bytea)
            is not distinct from ({said_of(excluded)}, excluded.version < :from_messages::bytea)
    where excluded.version > m.version
    returning {key_of(m)}, m.repeated;
end

-- fragment: question
-- The question behind an answer: the person's message that the answer replies to, otherwise the first message of a
-- person in the answer's turn.
case when m.sender_type = 'agent' then coalesce(
    (select q.message_id from messages q where q.message_id = m.reply_to and q.conversation_id = m.conversation_id
        and q.tenant = m.tenant and q.project = m.project and q.sender_type <> 'agent'),
    (select q.message_id from messages q where q.turn_id = m.turn_id and q.conversation_id = m.conversation_id
        and q.tenant = m.tenant and q.project = m.project and q.sender_type <> 'agent'
     order by q.version, q.message_id limit 1)) end as question

-- function: find_messages returns table ({key_typed}, {said_typed}, {stored_typed}, question text)
begin
    {nobody_erased};
    return query
    select {key_of(m)}, {said_of(m)}, {stored_of(m)}, {question} from messages m
    join unnest({key_arrays}) as wanted ({key_columns}) using ({key_columns});
end

-- function: place_copies returns table (thread text, question text)
begin
    {nobody_erased};
    return query
    select m.thread, {question} from (
        select w.tenant, w.project, w.conversation_id, held.reply_to, held.thread, w.position,
               coalesce(held.turn_id, w.turn_id) as turn_id, coalesce(held.sender_type, w.sender_type) as sender_type
        from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :message_id::text[], :turn_id::text[],
            :sender_type::text[]) with ordinality
            as w (tenant, project, conversation_id, message_id, turn_id, sender_type, position)
        left join messages held using (tenant, project, conversation_id, message_id)
    ) m order by m.position;
end

-- name: blank_senders
-- Version 0.1.0 stored the senders of people's messages.
update messages set sender_id = '' where (message_id, conversation_id, tenant, project) in (
    select message_id, conversation_id, tenant, project from messages
    where sender_id = :user_id and tenant = :tenant and sender_type = 'human' and sender_id <> '' limit :limit)
