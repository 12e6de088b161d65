-- fragment: is_here
tenant = :tenant and project = :project and conversation_id = :conversation_id

-- name: list_turns
-- The time of a turn is the time of its first message, or of its first reaction if no message is known.
with judged as (
    select turn_id, min(occurred_at) as occurred_at,
           sum(2 * coalesce(octet_length(text), 0) + {overhead}) as size
    from effective
    where {is_of_turns} and occurred_at >= :since
    group by turn_id
), spoken as (
    select turn_id, min(occurred_at) as occurred_at, sum(octet_length(content)) as size
    from messages
    where {is_here} and turn_id = any(coalesce(:turn_ids::text[], array(select turn_id from judged)))
    group by turn_id
), turns as (
    select turn_id, coalesce(s.occurred_at, j.occurred_at) as occurred_at,
           least(coalesce(s.size, 0), {item_bytes}) + least(coalesce(j.size, 0), {item_bytes}) as size,
           coalesce(s.size, 0) > {item_bytes} or coalesce(j.size, 0) > {item_bytes} as cut
    from spoken s full join judged j using (turn_id)
)
select * from turns
where :after::bigint is null or (occurred_at, turn_id) > (:after, :after_turn::text)
order by occurred_at, turn_id
limit :limit

-- name: reactions_of_turns
select * from (
    select conversation_id, turn_id, text, reaction, confidence, origin, rn, track_id, bundle_id, user_type, occurred_at,
           feedback_id,
           sum(2 * coalesce(octet_length(text), 0) + {overhead})
               over (partition by turn_id order by occurred_at desc, feedback_id desc) as used
    from effective
    where {is_here} and occurred_at >= :since and turn_id = any(:turn_ids::text[])
) f
where used <= {item_bytes}
order by occurred_at, feedback_id

-- name: messages_of_turns
select * from (
    select turn_id, message_id, sender_type, {sender}, agent_id, content, occurred_at, sequence,
           intent, strategy, track_id, bundle_id,
           sum(octet_length(content)) over (partition by turn_id order by occurred_at, sequence, message_id) as used
    from messages
    where {is_here} and turn_id = any(:turn_ids::text[])
) m
where used <= {item_bytes}
order by occurred_at, sequence, message_id

-- name: questions_of_turns
-- The questions of the turns' answers, each once.
select distinct a.turn_id, q.message_id, q.sender_type, {sender_of(q)}, q.content, q.occurred_at
from messages a
join exchanges x on x.answer_id = a.message_id and x.conversation_id = a.conversation_id and x.tenant = a.tenant
    and x.project = a.project
join messages q on q.message_id = x.question_id and q.conversation_id = x.conversation_id and q.tenant = x.tenant
    and q.project = x.project
where a.tenant = :tenant and a.project = :project and a.conversation_id = :conversation_id
  and a.turn_id = any(:turn_ids::text[]) and a.sender_type = 'agent'
order by a.turn_id, q.occurred_at, q.message_id

-- name: first_person
select {sender} from messages where {is_here} and sender_type = 'human' order by occurred_at, sequence limit 1

-- fragment: transcript_columns
message_id, thread, turn_id, sender_type, {sender}, agent_id, agent_version, trace_id, content, occurred_at

-- name: start_of_turn
select min(occurred_at) from messages where {is_here} and turn_id = :turn_id

-- name: transcript_before
select {transcript_columns} from messages where {is_here} and (:pivot::bigint is null or occurred_at < :pivot)
order by occurred_at desc, sequence desc, message_id desc limit :limit

-- name: transcript_after
select {transcript_columns} from messages where {is_here} and occurred_at >= :pivot
order by occurred_at, sequence, message_id limit :limit

-- fragment: transcript_reaction
feedback_id, turn_id, user_id, origin, feedback_type, reaction, emoji, confidence, text, correction,
       tags, correction_type, occurred_at, source, reviews, overruled_by, detector, decided_by, user_type,
       rating, worst_rating, best_rating

-- fragment: is_of_turns
{is_here} and (:turn_ids::text[] is null or turn_id = any(:turn_ids::text[]))

-- name: transcript_reactions
-- Newest first: if there are too many, the oldest are omitted.
select {transcript_reaction} from effective_or_overruled where {is_of_turns}
union all
select {transcript_reaction} from feedbacks where {is_of_turns} and feedback_type = 'implicit' and value is not null
order by occurred_at desc, feedback_id desc limit 2000
