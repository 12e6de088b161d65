-- fragment: text_until(message, until)
-- Text of the message; null if the message was later erased, deleted or edited.
case when {message}.content not in ('', {deleted}) and {message}.said_at <= greatest({message}.occurred_at, {until})
    then left({message}.content, 20000) end

-- name: answers_of_feedback
-- The answer is the message that the feedback names, otherwise the turn's last message. Its text is the text at the
-- time of the judgement.
select n.n, a.message_id, a.turn_id, a.reply_to, a.thread, a.occurred_at, a.sequence,
    {text_until(a, n.judged_at)} as content
from unnest(:n::int[], :conversation_id::text[], :turn_id::text[], :message_id::text[], :judged_at::bigint[])
    as n (n, conversation_id, turn_id, message_id, judged_at)
cross join lateral (
    select * from messages m
    where m.tenant = :tenant and m.project = :project and m.conversation_id = n.conversation_id
      and m.sender_type = 'agent' and (m.message_id = n.message_id or (n.message_id is null and m.turn_id = n.turn_id))
    order by m.occurred_at desc, m.sequence desc limit 1
) a

-- fragment: is_before_answer
m.tenant = :tenant and m.project = :project and m.conversation_id = a.conversation_id
           and m.message_id <> a.message_id and (m.occurred_at, m.sequence) <= (a.occurred_at, a.sequence)

-- fragment: is_in_thread(row)
m.thread = {row}.thread and hashtextextended(m.thread, 0) = hashtextextended({row}.thread, 0)

-- fragment: last_first
order by m.occurred_at desc, m.sequence desc, m.sender_type limit 1

-- fragment: request_of_answer
-- Request of the answer `a`: the result of the first of four lookups that finds a message, unless an agent wrote it.
cross join lateral (
    select * from (
        -- 1. The last message of the same turn.
        (select *, 1 as way from messages m where {is_before_answer} and m.turn_id = a.turn_id {last_first})
        union all
        -- 2. The message that `a` replies to, or a later reply to that message.
        (select *, 2 from messages m
         where {is_before_answer} and (m.message_id = a.reply_to or m.reply_to = a.reply_to)
           and (m.thread = a.thread or m.message_id = a.thread) {last_first})
        union all
        -- 3. If `a` replies to nothing: the message directly before it.
        (select *, 3 from messages m
         where {is_before_answer} and a.reply_to is null and {is_in_thread(a)} {last_first})
        union all
        -- 4. If `a` replies to nothing and begins its thread: the thread's root.
        (select *, 4 from messages m where {is_before_answer} and a.reply_to is null and m.message_id = a.thread)
    ) found order by way limit 1
) r
where r.sender_type = 'human'
  -- The last two lookups use only the position of the message, so it must have no turn and be earlier than `a`.
  and (r.way <= 2 or r.turn_id is null and (r.occurred_at, r.sequence) < (a.occurred_at, a.sequence))

-- name: requests_of_answers
select a.n, r.message_id, r.occurred_at, r.sequence, nullif(r.sender_id, '') as sender_id,
    {text_until(r, a.occurred_at)} as content
from unnest(:n::int[], :conversation_id::text[], :turn_id::text[], :message_id::text[], :reply_to::text[],
    :thread::text[], :occurred_at::bigint[], :sequence::bigint[])
    as a (n, conversation_id, turn_id, message_id, reply_to, thread, occurred_at, sequence)
{request_of_answer}

-- fragment: is_before_request
m.tenant = :tenant and m.project = :project and m.conversation_id = n.conversation_id
      and (m.occurred_at, m.sequence) < (n.occurred_at, n.sequence)

-- name: messages_before_requests
-- Return messages of the answer's thread and the thread's root, or messages of the channel outside of threads.
select n.n, p.sender_type, left(p.content, 20000) as content
from unnest(:n::int[], :conversation_id::text[], :thread::text[], :occurred_at::bigint[], :sequence::bigint[])
    as n (n, conversation_id, thread, occurred_at, sequence)
cross join lateral (
    select * from (
        (select * from messages m where {is_before_request} and {is_in_thread(n)}
         order by m.occurred_at desc, m.sequence desc limit :limit)
        union all
        (select * from messages m where {is_before_request} and n.thread <> '' and m.message_id = n.thread
           and m.thread <> n.thread)
    ) near order by occurred_at desc, sequence desc limit :limit
) p
where p.content not in ('', {deleted})
order by n.n, p.occurred_at, p.sequence

-- name: better_answers
-- The last accepted answer to a later request with the same text in the conversation.
select distinct on (n.n) n.n, {text_until(a, e.occurred_at)} as content
from unnest(:n::int[], :conversation_id::text[], :occurred_at::bigint[], :question::text[])
    as n (n, conversation_id, occurred_at, question)
join effective e on e.tenant = :tenant and e.project = :project and e.conversation_id = n.conversation_id
  and e.reaction = 'ok' and e.origin <> 'machine'
join messages a on a.tenant = :tenant and a.project = :project and a.conversation_id = n.conversation_id
  and a.message_id = e.agent_message_id and a.occurred_at > n.occurred_at
{request_of_answer}
  and {text_until(a, e.occurred_at)} is not null
  and lower(btrim({text_until(r, a.occurred_at)})) = lower(btrim(n.question))
order by n.n, a.occurred_at desc

-- name: people_on_turns
select distinct on (n.n) n.n, e.reaction, e.source
from unnest(:n::int[], :conversation_id::text[], :turn_id::text[]) as n (n, conversation_id, turn_id)
join effective e on e.tenant = :tenant and e.project = :project and e.conversation_id = n.conversation_id
  and e.turn_id = n.turn_id and e.origin <> 'machine'
order by n.n, e.occurred_at desc, e.feedback_id desc
