-- fragment: key_order(row)
{row}.tenant collate "C", {row}.project collate "C", {row}.conversation_id collate "C", {row}.message_id collate "C"

-- fragment: is_from(message, sender_type)
-- An expression, so that the planner does not take an index of all answers, or of all people, of a project to find the
-- messages of a conversation. Both cost it the same as long as a database has no statistics, for a minute or more.
{message}.sender_type || '' = {sender_type}

-- fragment: is_of(row)
a.conversation_id = {row}.conversation_id and a.tenant = {row}.tenant and a.project = {row}.project and {is_from(a, 'agent')}

-- fragment: in_thread(message, thread)
{message}.thread = {thread} and hashtextextended({message}.thread, 0) = hashtextextended({thread}, 0)

-- fragment: answers_after(thread)
-- Answers in the thread that the person's message `p` may be the question of: those up to the 24th later message of a
-- person.
select a.message_id from messages a
where {is_of(p)} and {in_thread(a, thread)} and a.occurred_at >= p.occurred_at
  and a.occurred_at <= coalesce((
    select q.occurred_at from messages q
    where q.conversation_id = p.conversation_id and q.tenant = p.tenant and q.project = p.project
      and {in_thread(q, thread)} and {is_from(q, 'human')} and q.has_text and q.occurred_at > p.occurred_at
    order by q.occurred_at, q.sequence offset {reach} limit 1), a.occurred_at)

-- name: lock_answers
-- Lock the answers whose question may have changed, and those that the given feedback is about.
with changed as materialized (
    select m.* from messages m join unnest({key_arrays}) as k ({key_columns}) using ({key_columns})
), affected as (
    select {key_of(m)} from changed m where m.sender_type = 'agent'
    union
    -- Another answer may now be the last one of the turn.
    select {key_of(a)} from changed m
    cross join lateral (select * from messages a where {is_of(m)} and a.turn_id = m.turn_id) a
    where m.sender_type = 'agent'
    union
    select p.tenant, p.project, p.conversation_id, a.message_id
    from changed p cross join lateral (
        select a.message_id from messages a where {is_of(p)} and a.reply_to = p.message_id
        union all
        select a.message_id from messages a where {is_of(p)} and a.turn_id in (p.turn_id, p.message_id)
        union all
        select x.answer_id from exchanges x
        where x.question_id = p.message_id and x.conversation_id = p.conversation_id and x.tenant = p.tenant
          and x.project = p.project
        union all
        {answers_after(p.thread)}
        union all
        {answers_after(p.message_id)}
    ) a
    where p.sender_type = 'human'
    union
    select f.tenant, f.project, f.conversation_id, f.answer_id
    from unnest(:of_tenant::text[], :of_project::text[], :of_conversation::text[], :of_answer::text[])
        as f (tenant, project, conversation_id, answer_id)
    union
    select f.tenant, f.project, f.conversation_id, a.message_id
    from unnest(:turn_tenant::text[], :turn_project::text[], :turn_conversation::text[], :turn_id::text[])
        as f (tenant, project, conversation_id, turn_id)
    cross join lateral (select a.message_id from messages a where {is_of(f)} and a.turn_id = f.turn_id) a
)
select {key_of(m)}, m.turn_id from messages m join affected using ({key_columns})
where {is_from(m, 'agent')}
order by {key_order(m)} for update of m

-- fragment: question_columns
-- The parts of a message that contracts/exchange.py needs.
q.message_id, coalesce(q.turn_id, q.message_id), q.thread, q.sender_id, q.occurred_at, q.sequence, q.log_time, q.log_offset

-- fragment: may_be_question
q.conversation_id = a.conversation_id and q.tenant = a.tenant and q.project = a.project and {is_from(q, 'human')}
            and q.has_text

-- fragment: latest_first
order by q.occurred_at desc, q.sequence desc, q.log_time desc, q.log_offset desc limit {reach}

-- name: candidates_of_answers
-- The people's messages among which is the question of each answer.
select {key_of(a)}, coalesce(a.turn_id, a.message_id) as turn_id, a.thread, a.sender_id, a.has_text, a.reply_to,
    left(a.content, 400) as content, a.occurred_at, a.sequence, a.log_time, a.log_offset, (
    select jsonb_agg(jsonb_build_array({question_columns})) from (
        (select * from messages q where {may_be_question} and q.message_id in (a.reply_to, a.thread, a.turn_id))
        union all
        (select * from messages q
         where {may_be_question} and q.turn_id = a.turn_id and q.occurred_at <= a.occurred_at {latest_first})
        union all
        (select * from messages q
         where {may_be_question} and {in_thread(q, a.thread)} and q.occurred_at <= a.occurred_at {latest_first})
    ) q
) as candidates
from messages a join unnest({key_arrays}) as k ({key_columns}) using ({key_columns})

-- name: write_exchanges
with given as (
    select * from unnest({key_arrays}, :question_id::text[], :occurred_at::bigint[])
        as g (tenant, project, conversation_id, answer_id, question_id, occurred_at)
), gone as (
    delete from exchanges x using given g
    where g.question_id is null and x.answer_id = g.answer_id and x.conversation_id = g.conversation_id
      and x.tenant = g.tenant and x.project = g.project
)
insert into exchanges as x (tenant, project, conversation_id, answer_id, question_id, occurred_at)
select * from given where question_id is not null
on conflict (answer_id, conversation_id, tenant, project) do update
set question_id = excluded.question_id, occurred_at = excluded.occurred_at
where (x.question_id, x.occurred_at) <> (excluded.question_id, excluded.occurred_at)

-- name: mark_turns_of_answers
-- The turn log of an answer shows its question.
insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
select distinct 'mirror', tenant, project, conversation_id, turn_id
from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
    as t (tenant, project, conversation_id, turn_id)
where exists (select from artifact_store where turn_logs)

-- fragment: is_about_turn(feedback)
-- A judgement is about the turn's answer. It names the message that was the answer when it was given.
({feedback}.agent_message_id is null or {feedback}.feedback_type = 'explicit')

-- name: turns_judged_as_a_whole(table)
-- Agents' messages of the turns with feedback that is about a turn.
select {key_of(a)}, a.turn_id, a.sender_id, a.thread, a.has_text, a.occurred_at, a.sequence, a.log_time, a.log_offset
from unnest(:turn_tenant::text[], :turn_project::text[], :turn_conversation::text[], :turn_id::text[])
    as t (tenant, project, conversation_id, turn_id)
cross join lateral (
    select a.* from messages a where {is_of(t)} and a.turn_id = t.turn_id
) a
where exists (
    select from {table} f
    where f.conversation_id = t.conversation_id and f.turn_id = t.turn_id and f.tenant = t.tenant
      and f.project = t.project and {is_about_turn(f)})

-- name: answers_with_questions
-- What feedback copies from each answer.
select {key_of(a)}, x.question_id, nullif(a.thread, '') as thread_id, a.strategy, a.attributes
from unnest({key_arrays}) as k ({key_columns})
join messages a using ({key_columns})
left join exchanges x on x.answer_id = a.message_id and x.conversation_id = a.conversation_id
    and x.tenant = a.tenant and x.project = a.project
where {is_from(a, 'agent')}

-- name: answers_in_turns
-- Agents' messages of turns.
select {key_of(a)}, a.turn_id, a.sender_id, a.thread, a.has_text, a.occurred_at, a.sequence, a.log_time, a.log_offset
from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
    as t (tenant, project, conversation_id, turn_id)
cross join lateral (select a.* from messages a where {is_of(t)} and a.turn_id = t.turn_id) a

-- name: turns_with_judgements(table)
select distinct tenant, project, conversation_id, turn_id from {table} f where {is_about_turn(f)}

-- name: name_answers(table)
-- Set the answer of the feedback that is about a turn: the message that it names, or the turn's last answer if it names
-- none or the message is empty.
with answers as materialized (
    select f.feedback_id, case when m.message_id is not null and not m.has_text or f.agent_message_id is null
        then given.message_id else f.agent_message_id end as answer_id
    from unnest({key_arrays}, :turn_id::text[]) as given (tenant, project, conversation_id, message_id, turn_id)
    join {table} f on f.conversation_id = given.conversation_id and f.turn_id = given.turn_id
        and f.tenant = given.tenant and f.project = given.project and {is_about_turn(f)}
    left join messages m on m.message_id = f.agent_message_id and m.conversation_id = f.conversation_id
        and m.tenant = f.tenant and m.project = f.project
    order by f.feedback_id for update of f
)
update {table} f set answer_id = a.answer_id
from answers a where f.feedback_id = a.feedback_id and f.answer_id is distinct from a.answer_id

-- fragment: of_answers
(e.tenant, e.project, e.conversation_id, e.answer_id) in (select * from unnest({key_arrays}))

-- name: correct_feedback(table, rows)
-- Make the answer's properties in feedback agree with the answer and its question.
with differing as materialized (
    select e.feedback_id, x.question_id, nullif(a.thread, '') as thread_id, a.strategy, a.attributes
    from {table} e
    join messages a on a.message_id = e.answer_id and a.conversation_id = e.conversation_id and a.tenant = e.tenant
        and a.project = e.project and {is_from(a, 'agent')}
    left join exchanges x on x.answer_id = a.message_id and x.conversation_id = a.conversation_id
        and x.tenant = a.tenant and x.project = a.project
    where {rows} and (e.question_message_id, e.thread_id, e.strategy, e.attributes)
        is distinct from (x.question_id, nullif(a.thread, ''), a.strategy, a.attributes)
    order by e.feedback_id for update of e
)
update {table} e
set question_message_id = d.question_id, thread_id = d.thread_id, strategy = d.strategy, attributes = d.attributes
from differing d where e.feedback_id = d.feedback_id
