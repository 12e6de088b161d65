-- fragment: turn_columns
t.tenant, t.project, t.conversation_id, t.turn_id, t.user_id, t.user_text, t.agent_id, t.agent_message_id,
    t.assistant_text, t.at, t.intent, t.strategy, t.validation_outcome, t.quality_score, t.track_id, t.bundle_id,
    t.machine_status, t.machine_confidence, t.machine_detected_in, t.user_status, t.similarity,
    f.said, f.tags, f.correction, f.at as judged_at, v.correction_type, v.at as machine_at,
    m.text as machine_said

-- fragment: with_feedback
left join user_reactions f on f.feedback_id = t.user_feedback_id and f.tenant = t.tenant
left join verdicts v on v.message_id = t.machine_message_id and v.conversation_id = t.conversation_id
    and v.tenant = t.tenant and v.project = t.project
left join messages m on m.message_id = t.machine_message_id and m.conversation_id = t.conversation_id
    and m.tenant = t.tenant and m.project = t.project

-- fragment: is_in_conversation_given
t.tenant = :tenant and t.project = :project and t.conversation_id = :conversation_id

-- name: find_turn
select {turn_columns} from (select *, null::float8 as similarity from turns) t {with_feedback}
where {is_in_conversation_given} and t.turn_id = :turn_id

-- name: latest_turns
-- Turns of a thread are found through the messages of the thread, turns of the channel among the latest turns of the
-- conversation. At most 100 messages or turns are read.
with near as (
    (select turn_id from turns t
     where :thread = '' and {is_in_conversation_given} and t.at <= :until and t.assistant_text is not null
     order by t.at desc, t.turn_id desc limit 100)
    union
    (select m.turn_id from messages m
     where :thread <> '' and m.tenant = :tenant and m.project = :project and m.conversation_id = :conversation_id
       and m.thread = :thread and hashtextextended(m.thread, 0) = hashtextextended(:thread, 0) and m.at <= :until
     order by m.position desc, m.message_id desc limit 100)
)
select {turn_columns} from (
    select t.*, null::float8 as similarity from near join turns t using (turn_id)
    left join messages a on a.message_id = t.agent_message_id and a.conversation_id = :conversation_id
        and a.tenant = :tenant and a.project = :project
    where {is_in_conversation_given} and t.at <= :until and t.assistant_text is not null
      and coalesce(a.thread, '') = :thread
    order by t.at desc, t.turn_id desc limit :limit) t {with_feedback}
order by t.at desc, t.turn_id desc

-- fragment: cosine_of_answer(row)
-- Similarity to the answer; null if the answer's vector is from another encoder.
case when {row}.assistant_embedder = :made_by
        then likeness({row}.assistant_vector, (select vector from question)) end

-- name: nearby_turns
-- The person's turns that are nearest to the question, and the latest ones.
with question as materialized (
    select :vector::real[] as vector
), own as materialized (
        -- An index-only scan. Turns with the same time have the same rank.
    select at, rank() over (order by at desc) as turns_back, {cosine_of_answer(latest)} as cosine
    from (
        select at, assistant_embedder, assistant_vector from turns
        where tenant = :tenant and project = :project and user_id = :user_id and at >= :since and at < :until
          and assistant_text is not null
        order by at desc limit :looked_at
    ) latest
), picked as (
    (select at, turns_back from own order by cosine desc nulls last, at desc limit :nearest)
    union (select at, turns_back from own order by at desc limit :latest)
)
select t.tenant, t.project, t.conversation_id, t.turn_id, t.agent_message_id, t.agent_id, t.assistant_text as text,
    p.turns_back, {cosine_of_answer(t)} as cosine
from picked p join turns t on t.tenant = :tenant and t.project = :project and t.user_id = :user_id and t.at = p.at
    and t.assistant_text is not null
order by cosine desc nulls last, t.at desc, t.conversation_id, t.turn_id limit :nearest + :latest

-- fragment: best_with_status(status)
-- An acceptance is announced only if the message thanks, praises or accepts an offer.
turns t where t.tenant = :tenant and t.project = :project and t.strategy is not null{filters}
    and t.user_feedback_status = {status} and (not :praised::boolean or t.user_status is not null or exists (
        select from verdicts v where v.message_id = t.machine_message_id and v.conversation_id = t.conversation_id
            and v.tenant = t.tenant and v.project = t.project and v.announced))
order by t.quality_score desc nulls last, t.at desc nulls last

-- name: search_turns(filters)
-- Accepted and neutral turns are read by separate scans of the index on statuses.
select {turn_columns} from (
    (select t.*, null::float8 as similarity from {best_with_status('accepted')} limit :limit)
    union all
    (select t.*, null::float8 as similarity from {best_with_status('neutral' and not :praised)} limit :limit)
) t {with_feedback}

-- fragment: alike(status)
-- Questions similar to a text, nearest first, among the best 10,000 turns, so that the search takes at most 0.1 s. At
-- least 50 questions are ranked.
(select t.*, near.similarity from (
    select * from (
        select t.tenant, t.project, t.conversation_id, t.turn_id, case when t.user_embedder = :made_by
            then likeness(t.user_vector, (select :vector::real[])) end as similarity
        from {best_with_status(status)} limit 10000) best
    where similarity >= {alike_from} order by similarity desc limit greatest(:limit, 50)) near
join turns t using (tenant, project, conversation_id, turn_id))

-- name: search_similar_turns(filters)
select {turn_columns} from ({alike('accepted')} union all {alike('neutral' and not :praised)}) t {with_feedback}
