-- fragment: is_later
excluded.version > m.version

-- fragment: is_earlier
({position_of(excluded)}) < ({position_of(m)})

-- fragment: is_repeated
-- The event was written to the log again: its version differs in the position in the log alone, which follows 17 bytes.
(substr(excluded.version, 1, 17) = substr(m.version, 1, 17)
    and (excluded.truncated, excluded.reply_to, excluded.thread, excluded.has_text, {said_of(excluded)})
        is not distinct from (m.truncated, m.reply_to, m.thread, m.has_text, {said_of(m)}))

-- function: index_messages returns table ({key_typed})
-- Returns the keys of added or changed messages.
begin
    {nobody_erased};
    return query
    insert into messages as m ({key_columns}, {said_columns}, {stored_columns}, {position_columns}, is_of_starter)
    select * from unnest({key_arrays}, {said_arrays}, {stored_arrays}, {position_arrays}, :is_of_starter::boolean[])
    on conflict ({key_columns}) do update set {said_set_if(is_later, m)}, {stored_set_if(is_later, m)},
        {position_set_if(is_earlier, m)}, is_of_starter = m.is_of_starter or excluded.is_of_starter
    where {is_later} and not {is_repeated} or {is_earlier} or excluded.is_of_starter > m.is_of_starter
    returning {key_of(m)};
end

-- fragment: is_candidate
(q.tenant, q.project, q.conversation_id) = (m.tenant, m.project, m.conversation_id) and q.sender_type = 'human' and q.has_text

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
    -- Each message is looked up by itself: a join that is planned while the table is empty would read it whole for ever.
    select {key_of(m)}, {said_of(m)}, {stored_of(m)}, {position_of(m)}, {candidates}
    from unnest({key_arrays}) as wanted ({key_columns})
    cross join lateral (select * from messages m where ({key_of(m)}) = ({key_of(wanted)}) offset 0) m;
end

-- fragment: is_in_thread
m.thread = follow_up.thread and m.conversation_id = follow_up.conversation_id
        and m.tenant = follow_up.tenant and m.project = follow_up.project

-- name: thread_answers
-- Of people's messages, those in a thread in which only its beginner and one agent have written before, each with the
-- agent's last message before it.
select follow_up.tenant, follow_up.project, follow_up.conversation_id, follow_up.message_id, answer.message_id as answer_id
from messages follow_up join unnest({key_arrays}) as wanted ({key_columns}) using ({key_columns})
cross join lateral (
    select m.message_id, m.agent_id from messages m
    where {is_in_thread} and m.sender_type = 'agent' and m.has_text
        and ({position_of(m)}) < ({position_of(follow_up)})
    order by m.at desc, m.sequence desc, m.first_log_time desc, m.log_offset desc limit 1
) answer
where follow_up.is_of_starter and not exists (
    select from messages m where {is_in_thread} and ({position_of(m)}) < ({position_of(follow_up)})
        and case m.sender_type when 'agent' then m.agent_id is distinct from answer.agent_id
            when 'human' then not m.is_of_starter end)

-- name: last_answers
-- The last answer before each time, in a conversation, by one agent or, without a name, by any.
select answer.message_id
from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :agent_id::text[], :at::bigint[]) with ordinality
    as w (tenant, project, conversation_id, agent_id, at, n)
left join lateral (
    select m.message_id from messages m
    where m.conversation_id = w.conversation_id and m.tenant = w.tenant and m.project = w.project
        and m.sender_type = 'agent' and m.has_text and m.at <= w.at and w.agent_id in ('', m.agent_id)
    order by m.at desc, m.sequence desc, m.first_log_time desc, m.log_offset desc limit 1
) answer on true
order by w.n
