-- fragment: is_later
excluded.version > m.version

-- fragment: is_earlier
({position_of(excluded)}) < ({position_of(m)})

-- function: register_messages returns table ({key_typed})
-- Returns the keys of added or changed messages.
begin
    {nobody_erased};
    return query
    insert into messages as m ({key_columns}, {said_columns}, {position_columns})
    select * from unnest({key_arrays}, {said_arrays}, {position_arrays})
    on conflict ({key_columns}) do update set {said_set_if(is_later, m)}, {position_set_if(is_earlier, m)}
    where {is_later} or {is_earlier}
    returning {key_of(m)};
end

-- fragment: is_candidate
q.conversation_id = m.conversation_id and q.tenant = m.tenant and q.project = m.project and q.sender_type = 'human'
            and q.has_text

-- fragment: latest_first
order by q.at desc, q.sequence desc, q.first_log_time desc, q.log_offset desc limit {reach}

-- name: find_turns
-- The latest messages of agents in each turn, each with the people's messages among which its question is
-- (contracts/exchange.py); a row without a message if there is none. Looks up each key separately: under row-level
-- security, a join may read all rows of the tenant.
select wanted.n, {said_of(m)}, {position_of(m)}, m.message_id, p.user_type as person_type, e.erased_at, (
    select jsonb_agg(jsonb_build_array(q.message_id, q.turn_id, q.thread, q.sender_id, {position_of(q)})) from (
        (select * from messages q where {is_candidate} and q.message_id in (m.reply_to, m.thread))
        union all
        (select * from messages q where {is_candidate} and q.turn_id = m.turn_id and q.at <= m.at {latest_first})
        union all
        (select * from messages q
         where {is_candidate} and coalesce(q.thread, '') = coalesce(m.thread, '') and q.at <= m.at {latest_first})
    ) q) as candidates
from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[], :user_id::text[])
    with ordinality as wanted (tenant, project, conversation_id, turn_id, user_id, n)
left join lateral (
    select * from messages q where q.turn_id = wanted.turn_id and q.conversation_id = wanted.conversation_id
        and q.tenant = wanted.tenant and q.project = wanted.project and q.sender_type = 'agent'
    order by q.has_text desc, q.at desc, q.sequence desc, q.first_log_time desc, q.log_offset desc limit {reach}) m
    on true
left join lateral (
    select user_type from messages q where q.sender_id = wanted.user_id and q.tenant = wanted.tenant
        and q.project = wanted.project and q.user_type is not null order by q.version desc limit 1) p on true
left join lateral (
    select erased_at from erasures e where e.tenant = wanted.tenant and e.user_id = wanted.user_id limit 1) e on true
order by wanted.n

-- name: count_turns
select count(*) filter (where :project::text is null or project = :project) as turns,
    coalesce(bool_and(of_others), false) as of_others
from (
    select project, coalesce(bool_and(sender_id <> :user_id) filter (where sender_type = 'human'), false) as of_others
    from messages where tenant = :tenant and conversation_id = :conversation_id and turn_id is not null
    group by project, turn_id) turns
