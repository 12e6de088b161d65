-- fragment: is_later
excluded.version > m.version

-- fragment: is_earlier
({position_of(excluded)}) < ({position_of(m)})

-- function: index_messages returns table ({key_typed}, repeated boolean)
begin
    {nobody_erased};
    return query
    insert into messages as m ({key_columns}, {said_columns}, {stored_columns}, {position_columns})
    select * from unnest({key_arrays}, {said_arrays}, {stored_arrays}, {position_arrays})
    on conflict ({key_columns}) do update set {said_set_if(is_later, m)}, {stored_set_if(is_later, m)},
        {position_set_if(is_earlier, m)},
        repeated = not {is_later} or ({said_of(m)}, m.version < :from_messages::bytea)
            is not distinct from ({said_of(excluded)}, excluded.version < :from_messages::bytea)
    where {is_later} or {is_earlier}
    returning {key_of(m)}, m.repeated;
end

-- fragment: is_candidate
q.conversation_id = m.conversation_id and q.tenant = m.tenant and q.project = m.project and q.sender_type <> 'agent'
            and q.has_text

-- fragment: latest_first
order by q.at desc, q.sequence desc, q.first_log_time desc, q.log_offset desc limit {reach}

-- fragment: candidates
-- The people's messages among which is the question of the answer `m` (contracts/exchange.py).
case when m.sender_type = 'agent' then (
    select jsonb_agg(jsonb_build_array(q.message_id, q.turn_id, q.thread, {position_of(q)})) from (
        (select * from messages q where {is_candidate} and q.message_id in (m.reply_to, m.thread))
        union all
        (select * from messages q where {is_candidate} and q.turn_id = m.turn_id and q.at <= m.at {latest_first})
        union all
        (select * from messages q
         where {is_candidate} and coalesce(q.thread, '') = coalesce(m.thread, '') and q.at <= m.at {latest_first})
    ) q) end as candidates

-- function: find_messages returns table ({key_typed}, {said_typed}, {stored_typed}, {position_typed}, candidates jsonb)
begin
    {nobody_erased};
    return query
    select {key_of(m)}, {said_of(m)}, {stored_of(m)}, {position_of(m)}, {candidates} from messages m
    join unnest({key_arrays}) as wanted ({key_columns}) using ({key_columns});
end

-- function: place_copies returns table (turn_id text, sender_type text, reply_to text, thread text, {position_typed}, candidates jsonb)
-- Returns what the index knows of each message, or of the copy if the index does not have the message.
begin
    {nobody_erased};
    return query
    select m.turn_id, m.sender_type, m.reply_to, m.thread, {position_of(m)}, {candidates} from (
        select w.tenant, w.project, w.conversation_id, known.reply_to, known.thread, w.n,
               coalesce(known.turn_id, w.turn_id) as turn_id, coalesce(known.sender_type, w.sender_type) as sender_type,
               coalesce(known.at, w.at) as at, coalesce(known.sequence, -1) as sequence,
               coalesce(known.first_log_time, 0) as first_log_time, coalesce(known.log_offset, 0) as log_offset
        from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :message_id::text[], :turn_id::text[],
            :sender_type::text[], :at::bigint[]) with ordinality
            as w (tenant, project, conversation_id, message_id, turn_id, sender_type, at, n)
        left join messages known using (tenant, project, conversation_id, message_id)
    ) m order by m.n;
end
