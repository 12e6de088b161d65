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
where {is_of(p)} and {in_thread(a, thread)} and a.occurred_at >= p.occurred_at and a.occurred_at <= coalesce((
    select q.occurred_at from messages q
    where q.conversation_id = p.conversation_id and q.tenant = p.tenant and q.project = p.project
      and {in_thread(q, thread)} and {is_from(q, 'human')} and q.has_text and q.occurred_at > p.occurred_at
    order by q.occurred_at, q.sequence offset {reach} limit 1), a.occurred_at)

-- fragment: may_be_question
q.conversation_id = a.conversation_id and q.tenant = a.tenant and q.project = a.project and {is_from(q, 'human')}
            and q.has_text

-- fragment: may_precede
-- False if the message `q` is certainly after the answer `a`.
q.occurred_at <= a.occurred_at and (q.occurred_at < a.occurred_at or q.sequence < a.sequence
    or least(q.sequence, a.sequence) < 0)

-- fragment: precedes
(q.occurred_at < a.occurred_at or (q.sequence, q.log_time, q.log_offset) < (a.sequence, a.log_time, a.log_offset))

-- fragment: place_of(message)
{message}.message_id, {message}.occurred_at, {message}.sequence, {message}.log_time, {message}.log_offset

-- fragment: nearest_first
q.occurred_at desc, {precedes} desc, case when {precedes} then q.sequence else -q.sequence end desc,
    case when {precedes} then q.log_time else -q.log_time end desc,
    case when {precedes} then q.log_offset else -q.log_offset end desc, q.message_id collate "C" desc

-- fragment: question_of_row
-- Id of the message that the answer `a` answers, by the rule of contracts/exchange.py; null if there is none.
coalesce((
    select q.message_id from messages q
    where {may_be_question} and q.message_id = a.reply_to and a.reply_to <> a.thread
), (
    select q.message_id
    from (
        select {place_of(q)} from messages q where {may_be_question} and q.turn_id = a.turn_id
        union all
        select {place_of(q)} from messages q where {may_be_question} and q.message_id = a.turn_id and q.turn_id is null
    ) q
    where {may_precede} order by {nearest_first} limit 1
), (
    select q.message_id
    from (
        select * from (
            (select q.sender_id, {place_of(q)} from messages q
             where {may_be_question} and {in_thread(q, a.thread)} and {may_precede} order by {nearest_first} limit {reach})
            union all
            select q.sender_id, {place_of(q)} from messages q
            where {may_be_question} and q.message_id = a.thread and {may_precede}
        ) q order by {nearest_first} limit {reach}
    ) q
    order by is_addressed(left(a.content, 400), q.sender_id) desc, {nearest_first} limit 1
))

-- fragment: is_of_project(feedback, row)
-- This comparison serves no index, so that the planner does not read a whole project or conversation.
({feedback}.tenant, {feedback}.project) is not distinct from ({row}.tenant, {row}.project)

-- fragment: message_of(key)
-- The message `m` of a key. A subquery with an offset is planned by itself, so each key is looked up. A join that is
-- planned while the table is empty would read the whole table for ever.
lateral (select * from messages m where (m.message_id, m.conversation_id) = ({key}.message_id, {key}.conversation_id)
    and {is_of_project(m, key)} offset 0) m

-- fragment: with_answer(row)
-- The answer that feedback `row` is about, and the properties that feedback copies from it: of the message that it
-- names, or of the turn's last answer if it names none, or if a judgement names an empty message. If the answer is
-- unknown, the properties are those of the row.
lateral (
    select case when {row}.agent_message_id is null or {row}.feedback_type = 'explicit' and exists (
        select from messages m where m.message_id = {row}.agent_message_id and m.conversation_id = {row}.conversation_id
            and {is_of_project(m, row)} and not m.has_text offset 0
    ) then coalesce((
        select a.message_id from messages a where {is_of(row)} and a.turn_id = {row}.turn_id
        order by a.has_text desc, a.occurred_at desc, a.sequence desc, a.log_time desc, a.log_offset desc,
            a.message_id collate "C" desc limit 1
    ), {row}.agent_message_id) else {row}.agent_message_id end as answer_id
) named
left join lateral (select * from messages a where {is_of(row)} and a.message_id = named.answer_id offset 0) answer on true
left join lateral (
    select * from exchanges x where (x.tenant, x.project, x.conversation_id, x.answer_id) = ({key_of(answer)}) offset 0
) x on true
cross join lateral (
    select r.* from (values
        (answer.message_id is not null, x.question_id, nullif(answer.thread, ''), answer.strategy, answer.attributes),
        (answer.message_id is null, {row}.question_message_id, {row}.thread_id, {row}.strategy, {row}.attributes)
    ) as r (is_used, question_message_id, thread_id, strategy, attributes)
    where r.is_used
) copied

-- fragment: copies
copied.question_message_id, copied.thread_id, copied.strategy, copied.attributes, named.answer_id

-- fragment: lock_conversations(changed, judged)
-- Of two writers of a conversation's messages, or of its messages and feedback, the later one waits, so that it sees
-- what the earlier one has committed.
perform case when is_changed then pg_advisory_xact_lock(key) else pg_advisory_xact_lock_shared(key) end from (
        select hashtextextended(id, 0) as key, bool_or(is_changed) as is_changed
        from (select id, true from unnest({changed}) as c (id) union all select id, false from unnest({judged}) as c (id))
            as c (id, is_changed)
        group by key order by key
    ) k

-- function: settle_answers returns void
-- Updates the questions of all answers that changed messages may affect, and the copies in feedback.
declare
    answers messages[];
begin
    with changed as materialized (
        select * from unnest(:changed::messages[])
    ), interrupted as materialized (
        -- Conversations with an answer after a person's changed message, apart from the changed answers. Most have none.
        select c.* from (
            select tenant, project, conversation_id, array_agg(message_id) as ids,
                min(occurred_at) filter (where sender_type = 'human') as since
            from changed group by tenant, project, conversation_id
        ) c where exists (
            select from messages a where {is_of(c)} and a.occurred_at >= c.since and a.message_id <> all(c.ids) offset 0)
    ), others as (
        -- Answers that name the message, by id or by turn, may be earlier. The copies in feedback depend on those of a turn.
        select p.tenant, p.project, p.conversation_id, a.message_id
        from changed p cross join lateral (
            select a.message_id from messages a where {is_of(p)} and a.reply_to = p.message_id
            union all
            select a.message_id from messages a where {is_of(p)} and a.turn_id in (p.turn_id, p.message_id)
        ) a
        where p.sender_type = 'human'
        union all
        select p.tenant, p.project, p.conversation_id, a.message_id
        from interrupted join changed p using (tenant, project, conversation_id)
        cross join lateral (
            select x.answer_id as message_id from exchanges x
            where (x.tenant, x.project, x.conversation_id, x.question_id) = ({key_of(p)})
            union all
            {answers_after(p.thread)} union all {answers_after(p.message_id)}
        ) a
        where p.sender_type = 'human'
        except
        select {key_of(c)} from changed c
    )
    select array_agg(answer) into answers from (
        -- The casts avoid a conversion to text and back.
        select c::messages from changed c where c.sender_type = 'agent'
        union all
        select m::messages from others k cross join {message_of(k)} where {is_from(m, 'agent')}
    ) a (answer);
    if answers is null then
        return;
    end if;
    with pairs as materialized (
        select a.tenant, a.project, a.conversation_id, a.message_id as answer_id, {question_of_row} as question_id,
            a.occurred_at
        from unnest(answers) a
    ), gone as (
        delete from exchanges x
        where x.answer_id = any(array(select answer_id from pairs where question_id is null))
          and (x.tenant, x.project, x.conversation_id, x.answer_id)
            in (select tenant, project, conversation_id, answer_id from pairs where question_id is null)
    )
    insert into exchanges as x (tenant, project, conversation_id, answer_id, question_id, occurred_at)
    select * from pairs where question_id is not null
    on conflict (answer_id, conversation_id, tenant, project) do update
    set question_id = excluded.question_id, occurred_at = excluded.occurred_at
    where (x.question_id, x.occurred_at) <> (excluded.question_id, excluded.occurred_at);
    -- The turn log of an answer shows its question.
    insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
    select distinct 'mirror', tenant, project, conversation_id, turn_id from unnest(answers)
    where exists (select from artifact_store where turn_logs);
    with stale as materialized (
        select f.feedback_id, {copies}
        from unnest(answers) a
        cross join lateral (
            (select * from feedbacks e where e.conversation_id = a.conversation_id and e.answer_id = a.message_id
               and {is_of_project(e, a)} offset 0)
            union all
            (select * from feedbacks e where e.conversation_id = a.conversation_id and e.turn_id = a.turn_id
               and (e.agent_message_id is null or e.feedback_type = 'explicit') and {is_of_project(e, a)} offset 0)
        ) f
        cross join {with_answer(f)}
        where (f.question_message_id, f.thread_id, f.strategy, f.attributes, f.answer_id) is distinct from ({copies})
    )
    update feedbacks e set (question_message_id, thread_id, strategy, attributes, answer_id) = (
        select question_message_id, thread_id, strategy, attributes, answer_id from stale d
        where d.feedback_id = e.feedback_id limit 1)
    where e.feedback_id = any(array(select feedback_id from stale));
end
