-- fragment: text_until(message, until)
-- Text of the message; null if it has none, or if it was edited later.
case when {message}.has_text and {message}.text_since <= greatest({message}.occurred_at, {until})
    then left({message}.content, 20000) end

-- fragment: question_of_answer(answer)
-- The question `q` of an answer; all its columns are null if it is unknown. Each is looked up by itself: without statistics
-- of a young table, a join would read all messages of the project.
left join lateral (
    select x.question_id from exchanges x
    where x.answer_id = {answer}.message_id and x.conversation_id = {answer}.conversation_id
      and x.tenant = {answer}.tenant and x.project = {answer}.project offset 0
) x on true
left join lateral (
    select * from messages q
    where q.message_id = x.question_id and q.conversation_id = {answer}.conversation_id
      and q.tenant = {answer}.tenant and q.project = {answer}.project offset 0
) q on true

-- fragment: is_in_thread(row)
m.thread = {row}.thread and hashtextextended(m.thread, 0) = hashtextextended({row}.thread, 0)

-- fragment: is_uncertain
-- True if the answer `a` replies to a message that is unknown or emptied, or if a message that a person emptied stands
-- between the question `q` and the answer: it may have been the question.
a.reply_to is distinct from q.message_id and (
        a.reply_to <> a.thread and not exists (
            select from messages m
            where m.message_id = a.reply_to and m.conversation_id = a.conversation_id and m.tenant = :tenant
              and m.project = :project and {is_from(m, 'agent')}
        ) or a.turn_id is distinct from coalesce(q.turn_id, q.message_id) and exists (
            select from messages m
            where m.tenant = :tenant and m.project = :project and m.conversation_id = a.conversation_id
              and {is_in_thread(a)} and {is_from(m, 'human')} and not m.has_text
              and m.occurred_at between q.occurred_at and a.occurred_at
        )
    )

-- name: exchanges_of_feedback
-- The answer that each feedback is about, and its question. Their texts are those at the time of the judgement and of
-- the answer. `missing` is the reason why they are not an example.
select n.n, n.answer_id, {text_until(a, n.judged_at)} as answer, a.thread,
    q.message_id as question_id, {sender_of(q)}, {text_until(q, a.occurred_at)} as question,
    q.occurred_at as asked_at, q.sequence, q.log_time, q.log_offset,
    case when a.message_id is null then 'answer_unknown' when not a.has_text then 'answer_empty'
        when {text_until(a, n.judged_at)} is null then 'answer_edited'
        when q.message_id is null then 'question_unknown'
        when {text_until(q, a.occurred_at)} is null then 'question_edited'
        when {is_uncertain} then 'question_uncertain' end as missing
from unnest(:n::int[], :conversation_id::text[], :answer_id::text[], :judged_at::bigint[])
    as n (n, conversation_id, answer_id, judged_at)
left join lateral (
    select * from messages a
    where a.message_id = n.answer_id and a.conversation_id = n.conversation_id and a.tenant = :tenant
      and a.project = :project and {is_from(a, 'agent')} offset 0
) a on true
{question_of_answer(a)}

-- fragment: is_before_question
m.tenant = :tenant and m.project = :project and m.conversation_id = n.conversation_id
      and (m.occurred_at, m.sequence, m.log_time, m.log_offset) < (n.asked_at, n.sequence, n.log_time, n.log_offset)

-- name: messages_before_questions
-- Return messages of the answer's thread and the thread's root, or messages of the channel outside of threads. Messages of
-- people who forbid training, and answers to them, are omitted.
select n.n, case p.sender_type when 'human' then 'user' else 'assistant' end as role, left(p.content, 20000) as content
from unnest(:n::int[], :conversation_id::text[], :thread::text[], :asked_at::bigint[], :sequence::bigint[],
    :log_time::bigint[], :log_offset::bigint[])
    as n (n, conversation_id, thread, asked_at, sequence, log_time, log_offset)
cross join lateral (
    select * from (
        (select * from messages m where {is_before_question} and {is_in_thread(n)}
         order by m.occurred_at desc, m.sequence desc, m.log_time desc, m.log_offset desc limit :limit)
        union all
        (select * from messages m where {is_before_question} and n.thread <> '' and m.message_id = n.thread
           and m.thread <> n.thread)
    ) near order by occurred_at desc, sequence desc, log_time desc, log_offset desc limit :limit
) p
where p.has_text and p.sender_type <> 'system' and not exists (
    select from training_choices c
    where c.tenant = :tenant and not c.training_allowed and c.user_id in (p.sender_id, (
        select q.sender_id from exchanges x
        join messages q on q.message_id = x.question_id and q.conversation_id = x.conversation_id
            and q.tenant = x.tenant and q.project = x.project
        where x.answer_id = p.message_id and x.conversation_id = p.conversation_id and x.tenant = :tenant
          and x.project = :project)))
order by n.n, p.occurred_at, p.sequence, p.log_time, p.log_offset

-- name: better_answers
-- An accepted answer to the same question, or to a later question with the same text in the conversation.
select distinct on (n.n) n.n, {text_until(a, e.occurred_at)} as content
from unnest(:n::int[], :conversation_id::text[], :answer_id::text[], :question_id::text[], :asked_at::bigint[],
    :question::text[]) as n (n, conversation_id, answer_id, question_id, asked_at, question)
join live_feedback(true) e on e.tenant = :tenant and e.project = :project and e.conversation_id = n.conversation_id
    and e.reaction = 'ok' and e.origin <> 'machine' and e.answer_id <> n.answer_id
join messages a on a.message_id = e.answer_id and a.conversation_id = e.conversation_id and a.tenant = :tenant
    and a.project = :project and {is_from(a, 'agent')}
{question_of_answer(a)}
where {text_until(a, e.occurred_at)} is not null and not exists (
        select from training_choices c
        where c.tenant = :tenant and not c.training_allowed and c.user_id in (e.user_id, q.sender_id))
    and (q.message_id = n.question_id
    or q.occurred_at > n.asked_at and lower(btrim({text_until(q, a.occurred_at)})) = lower(btrim(n.question)))
order by n.n, q.message_id = n.question_id desc, a.occurred_at desc, e.feedback_id

-- name: replaced_verdicts
-- Machine verdicts of which another record decides what the person thought of the answer: the person's own verdict, or
-- the machine's newest one.
select n.n
from unnest(:n::int[], :conversation_id::text[], :turn_id::text[], :answer_id::text[], :user_id::text[],
    :occurred_at::bigint[], :feedback_id::uuid[])
    as n (n, conversation_id, turn_id, answer_id, user_id, occurred_at, feedback_id)
where exists (
    select from live_feedback(true) e
    where e.conversation_id = n.conversation_id and e.turn_id = n.turn_id and e.user_id = n.user_id
      and e.answer_id is not distinct from n.answer_id and e.tenant = :tenant and e.project = :project
      and e.reaction is not null and (:origins::text[] is null or e.origin = any(:origins))
      and (e.origin <> 'machine' or (e.occurred_at, e.feedback_id) > (n.occurred_at, n.feedback_id)))
