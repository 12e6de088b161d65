-- fragment: found_columns
e.feedback_id, e.conversation_id, e.turn_id, e.agent_id, e.agent_version, e.model, e.user_id, e.origin, e.feedback_type,
    e.reaction, e.value, e.confidence, e.text, e.tags, e.correction, e.correction_type, e.emoji, e.occurred_at,
    e.agent_message_id, e.answer_id, e.trace_id, e.source, e.reviews, e.overruled_by, e.detector, e.decided_by,
    e.user_type, e.rating, e.worst_rating, e.best_rating, e.rn, e.attributes ->> 'language' as language

-- name: search(view, where, order)
select {found_columns} from {view} e where {where} order by {order} limit :limit

-- fragment: has_words
-- True if the row's text and correction, its question or its answer contain all words.
(coalesce(e.text, '') || ' ' || coalesce(e.correction, '')) ~* all(:words::text[]) or exists (
        select from messages m
        where m.message_id in (e.answer_id, e.question_message_id) and m.conversation_id = e.conversation_id
          and m.tenant = e.tenant and m.project = e.project and m.content ~* all(:words::text[]))

-- name: search_text(view, where, order)
with looked as materialized (
    select e.feedback_id, e.occurred_at, ({has_words}) as is_match from feedbacks e
    where {where} and (e.reaction is not null or e.value is not null)
    order by {order} limit :scanned
), hits as materialized (
    -- Read the view only for records that contain the text.
    select e.feedback_id, e.occurred_at, false as ended_here
    from looked e
    where e.is_match and exists (
        select from {view} counted
        where counted.feedback_id = e.feedback_id and counted.tenant = :tenant and counted.project = :project
    )
    order by {order}
    limit :limit
), listed as (
    select * from hits
    union all (
        -- If the scan reached its limit before it found enough hits, add the last scanned row.
        select e.feedback_id, e.occurred_at, true
        from looked e
        where (select count(*) from hits) < :limit
        order by {order}
        limit 1 offset :scanned - 1
    )
)
select {found_columns}, listed.ended_here
from listed join feedbacks e using (feedback_id)
where e.tenant = :tenant and e.project = :project
order by ended_here, {order}

-- name: turn_of_verdict
select conversation_id, turn_id, occurred_at from feedbacks
where feedback_id = :id::uuid and tenant = :tenant and project = :project

-- name: times_of_judged
-- Start and end of the times at which people may have judged turns with machine verdicts: days with such counts in the
-- roll-ups, and stale hours, which may have some.
select min(first) as first, max(last) as last from (
    select min(start) as first, max(start) + {day} as last from rollups
    where tenant = :tenant and project = :project and grain = 'judgement day'
      and start > :start - {day} and start < :end
    union all
    select min(hour), max(hour) + {hour} from stale_hours
    where tenant = :tenant and project = :project and hour > :start - {hour} and hour < :end
) times

-- name: answers_of_found
select f.feedback_id, left(m.content, 280) as answer, left(q.content, 280) as question
from feedbacks f
join messages m on m.message_id = f.answer_id and m.conversation_id = f.conversation_id and m.tenant = f.tenant
    and m.project = f.project
left join exchanges x on x.answer_id = f.answer_id and x.conversation_id = f.conversation_id and x.tenant = f.tenant
    and x.project = f.project
left join messages q on q.message_id = x.question_id and q.conversation_id = x.conversation_id and q.tenant = x.tenant
    and q.project = x.project
where f.tenant = :tenant and f.project = :project and f.feedback_id = any(:ids::uuid[])

-- name: feedback_about
select texts, ids from feedback_about(:tenant, :project, :words, :patterns::text[], :most)
