-- fragment: key_order(row)
{row}.tenant collate "C", {row}.project collate "C", {row}.conversation_id collate "C", {row}.message_id collate "C"

-- fragment: is_from(message, sender_type)
-- An expression, so that the planner does not take an index of all answers, or of all people, of a project to find the
-- messages of a conversation. Both cost it the same as long as a database has no statistics, for a minute or more.
{message}.sender_type || '' = {sender_type}

-- fragment: messages_of_keys(keys)
-- The stored messages `m` of keys `k`. A subquery with an offset is planned by itself, so each key is looked up. A join
-- that is planned while the table is empty would read the whole table for ever.
{keys} as k ({key_columns})
cross join lateral (
    select * from messages m where m.message_id = k.message_id and m.conversation_id = k.conversation_id
        and m.tenant = k.tenant and m.project = k.project offset 0
) m

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

-- fragment: question_columns
-- The parts of a message that contracts/exchange.py needs.
q.message_id, coalesce(q.turn_id, q.message_id), q.thread, q.sender_id, q.occurred_at, q.sequence, q.log_time, q.log_offset

-- fragment: may_be_question
q.conversation_id = m.conversation_id and q.tenant = m.tenant and q.project = m.project and {is_from(q, 'human')}
            and q.has_text

-- fragment: latest_first
order by q.occurred_at desc, q.sequence desc, q.log_time desc, q.log_offset desc limit {reach}

-- fragment: is_about_turn(feedback)
-- A judgement is about the turn's answer. It names the message that was the answer when it was given.
({feedback}.agent_message_id is null or {feedback}.feedback_type = 'explicit')

-- fragment: is_in_turn(feedback, turn)
-- The last comparison serves no index, so that the planner does not read a whole project's feedback.
{feedback}.conversation_id = {turn}.conversation_id and {feedback}.turn_id = {turn}.turn_id and {is_about_turn(feedback)}
and ({feedback}.tenant, {feedback}.project) is not distinct from ({turn}.tenant, {turn}.project)

-- fragment: given_keys
unnest({key_arrays})

-- fragment: locked_keys
unnest(tenants, projects, conversations, answers)

-- fragment: affected_answers
-- Keys of the answers whose question may have changed, and of those that the given feedback is about, locked.
with changed as materialized (
    select m.* from {messages_of_keys(given_keys)}
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
select {key_of(m)} from (select * from affected k order by {key_order(k)}) k ({key_columns})
cross join lateral (
    select * from messages m where m.message_id = k.message_id and m.conversation_id = k.conversation_id
        and m.tenant = k.tenant and m.project = k.project and {is_from(m, 'agent')} for update of m
) m

-- fragment: message_columns(message)
-- The parts of an agent's message that contracts/exchange.py needs.
{key_of(message)}, coalesce({message}.turn_id, {message}.message_id) as turn_id, {message}.thread, {message}.sender_id,
    {message}.has_text, {message}.reply_to, left({message}.content, 400) as content, {message}.occurred_at,
    {message}.sequence, {message}.log_time, {message}.log_offset

-- fragment: message_typed
{key_typed}, turn_id text, thread text, sender_id text, has_text boolean, reply_to text, content text,
    occurred_at bigint, sequence bigint, log_time bigint, log_offset bigint

-- function: find_pairs returns table ({message_typed}, is_in_judged_turn boolean, candidates jsonb)
-- Locks the affected answers, and then returns each with the people's messages among which is its question. Besides,
-- it returns all agents' messages of the turns that feedback is about, if an affected answer is in them.
declare
    tenants text[];
    projects text[];
    conversations text[];
    answers text[];
begin
    select array_agg(tenant), array_agg(project), array_agg(conversation_id), array_agg(message_id)
    into tenants, projects, conversations, answers from ({affected_answers}) locked;
    -- A statement of its own, so that it sees what was committed before the locks.
    return query
    select {message_columns(m)}, false, (
        select jsonb_agg(jsonb_build_array({question_columns})) from (
            (select * from messages q where {may_be_question} and q.message_id in (m.reply_to, m.thread, m.turn_id))
            union all
            (select * from messages q
             where {may_be_question} and q.turn_id = m.turn_id and q.occurred_at <= m.occurred_at {latest_first})
            union all
            (select * from messages q
             where {may_be_question} and {in_thread(q, m.thread)} and q.occurred_at <= m.occurred_at {latest_first})
        ) q
    )
    from {messages_of_keys(locked_keys)}
    union all
    -- With a limit, each turn is looked up; PostgreSQL would otherwise read all judgements.
    select {message_columns(a)}, true, null
    from (
        select distinct m.tenant, m.project, m.conversation_id, m.turn_id from {messages_of_keys(locked_keys)}
    ) t cross join lateral (select * from messages a where {is_of(t)} and a.turn_id = t.turn_id) a
    where (select true from feedbacks f where {is_in_turn(f, t)} limit 1);
end

-- fragment: locked_in_order(table, rows)
-- The rows `d` and the feedback `e` that they name, locked in one order, so that no two transactions wait for each other.
select d.* from (select * from {rows} order by feedback_id) d
cross join lateral (select * from {table} e where e.feedback_id = d.feedback_id for update of e) e

-- fragment: name_answers(table)
-- Set the answer of the feedback that is about a turn: the message that it names, or the turn's last answer if it names
-- none or the message is empty.
with answers as materialized (
    select f.feedback_id, case when m.message_id is not null and not m.has_text or f.agent_message_id is null
        then given.message_id else f.agent_message_id end as answer_id
    from unnest({key_arrays_as(named)}, :named_turn::text[])
        as given (tenant, project, conversation_id, message_id, turn_id)
    cross join lateral (select * from {table} f where {is_in_turn(f, given)} offset 0) f
    left join lateral (
        select * from messages m
        where m.message_id = f.agent_message_id and m.conversation_id = f.conversation_id and m.tenant = f.tenant
          and m.project = f.project offset 0
    ) m on true
), differing as materialized (
    {locked_in_order(table, answers)} where d.answer_id is distinct from e.answer_id
)
update {table} e set answer_id = (select d.answer_id from differing d where d.feedback_id = e.feedback_id)
where e.feedback_id = any(array(select feedback_id from differing))

-- fragment: feedback_of_answers
(
    select e.* from unnest({key_arrays}) as k (tenant, project, conversation_id, answer_id)
    cross join lateral (
        select * from feedbacks e where e.conversation_id = k.conversation_id and e.answer_id = k.answer_id
            and (e.tenant, e.project) is not distinct from (k.tenant, k.project) offset 0
    ) e
)

-- fragment: correct_feedback(table, rows)
-- Make the answer's properties in feedback `rows` agree with the answer and its question.
with stale as materialized (
    select e.feedback_id, x.question_id, nullif(a.thread, '') as thread_id, a.strategy, a.attributes
    from {rows} e
    cross join lateral (
        select * from messages a where a.message_id = e.answer_id and a.conversation_id = e.conversation_id
            and a.tenant = e.tenant and a.project = e.project and {is_from(a, 'agent')} offset 0
    ) a
    left join lateral (
        select * from exchanges x where x.answer_id = a.message_id and x.conversation_id = a.conversation_id
            and x.tenant = a.tenant and x.project = a.project offset 0
    ) x on true
    where (e.question_message_id, e.thread_id, e.strategy, e.attributes)
        is distinct from (x.question_id, nullif(a.thread, ''), a.strategy, a.attributes)
), differing as materialized ({locked_in_order(table, stale)})
update {table} e set (question_message_id, thread_id, strategy, attributes)
    = (select d.question_id, d.thread_id, d.strategy, d.attributes from differing d where d.feedback_id = e.feedback_id)
where e.feedback_id = any(array(select feedback_id from differing))

-- function: settle_answers returns void
-- Writes the questions of answers, names the answers of turns with feedback, and updates the copies in feedback.
begin
    with given as (
        select * from unnest({key_arrays}, :question_id::text[], :occurred_at::bigint[])
            as g (tenant, project, conversation_id, answer_id, question_id, occurred_at)
    ), gone as (
        delete from exchanges x
        where x.answer_id = any(array(select answer_id from given where question_id is null))
          and (x.tenant, x.project, x.conversation_id, x.answer_id)
            in (select tenant, project, conversation_id, answer_id from given where question_id is null)
    )
    insert into exchanges as x (tenant, project, conversation_id, answer_id, question_id, occurred_at)
    select * from given where question_id is not null
    on conflict (answer_id, conversation_id, tenant, project) do update
    set question_id = excluded.question_id, occurred_at = excluded.occurred_at
    where (x.question_id, x.occurred_at) <> (excluded.question_id, excluded.occurred_at);
    -- The turn log of an answer shows its question.
    insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
    select distinct 'mirror', tenant, project, conversation_id, turn_id
    from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
        as t (tenant, project, conversation_id, turn_id)
    where exists (select from artifact_store where turn_logs);
    if cardinality(:named_tenant::text[]) > 0 then
        {name_answers(feedbacks)};
    end if;
    {correct_feedback(feedbacks, feedback_of_answers)};
end

-- name: answers_with_questions
-- What feedback copies from each answer.
select {key_of(m)}, x.question_id, nullif(m.thread, '') as thread_id, m.strategy, m.attributes
from {messages_of_keys(given_keys)}
left join lateral (
    select * from exchanges x where x.answer_id = m.message_id and x.conversation_id = m.conversation_id
        and x.tenant = m.tenant and x.project = m.project offset 0
) x on true
where {is_from(m, 'agent')}

-- fragment: agents_messages(turns)
select {message_columns(a)} from {turns} as t (tenant, project, conversation_id, turn_id)
cross join lateral (select * from messages a where {is_of(t)} and a.turn_id = t.turn_id offset 0) a

-- fragment: given_turns
unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])

-- name: agents_messages_in_turns
{agents_messages(given_turns)}

-- fragment: rebuilt_turns
(select distinct tenant, project, conversation_id, turn_id from feedbacks_rebuilt f where {is_about_turn(f)})

-- name: agents_messages_in_rebuilt_turns
{agents_messages(rebuilt_turns)}

-- name: name_rebuilt_answers
{name_answers(feedbacks_rebuilt)}

-- name: correct_rebuilt
{correct_feedback(feedbacks_rebuilt, feedbacks_rebuilt)}
