-- fragment: turn_columns
t.tenant, t.project, t.conversation_id, t.turn_id, t.user_id, t.user_text, t.agent_id, t.agent_message_id,
    t.assistant_text, t.at, t.intent, t.strategy, t.validation_outcome, t.quality_score, t.track_id, t.bundle_id,
    t.machine_status, t.machine_confidence, t.machine_detected_in, t.user_status,
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

-- name: find_turns
select {turn_columns} from unnest(:conversation_id::text[], :turn_id::text[]) as k (conversation_id, turn_id)
join turns t on t.conversation_id = k.conversation_id and t.turn_id = k.turn_id and t.tenant = :tenant
    and t.project = :project
{with_feedback}

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
    select t.* from near join turns t using (turn_id)
    left join messages a on a.message_id = t.agent_message_id and a.conversation_id = :conversation_id
        and a.tenant = :tenant and a.project = :project
    where {is_in_conversation_given} and t.at <= :until and t.assistant_text is not null
      and coalesce(a.thread, '') = :thread
    order by t.at desc, t.turn_id desc limit :limit) t {with_feedback}
order by t.at desc, t.turn_id desc

-- name: vectors_of_person
-- An index-only scan.
select at, assistant_vector from turns
where tenant = :tenant and project = :project and user_id = :user_id and at >= :since and at < :until
  and assistant_text is not null
order by at desc limit :limit

-- name: answers_at
select conversation_id, turn_id, agent_message_id, agent_id, assistant_text, at, assistant_vector from turns
where tenant = :tenant and project = :project and user_id = :user_id and at = any(:at::bigint[])
  and assistant_text is not null
order by at desc, conversation_id, turn_id

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
    (select t.* from {best_with_status('accepted')} limit :limit)
    union all
    (select t.* from {best_with_status('neutral' and not :praised)} limit :limit)
) t {with_feedback}

-- name: vectors_with_strategies(filters)
(select 'accepted' as status, t.conversation_id, t.turn_id, t.user_vector from {best_with_status('accepted')} limit :limit)
union all
(select 'neutral', t.conversation_id, t.turn_id, t.user_vector
 from {best_with_status('neutral' and not :praised)} limit :limit)
