-- fragment: is_verdict(row)
{row}.origin = 'machine' and ({row}.reaction is not null or {row}.overruled_reaction is not null)

-- fragment: review_of(row)
(
    select r.reaction from effective r
    where r.conversation_id = {row}.conversation_id and r.turn_id = {row}.turn_id and r.origin = 'reviewer'
      and r.tenant = :tenant and r.project = :project
    limit 1
)

-- name: start_of_newest_answers
-- Time of the window's answer number :most, counted from the newest; no row if the window has fewer answers.
select occurred_at from messages
where tenant = :tenant and project = :project and sender_type = 'agent' and occurred_at >= :start and occurred_at < :end
order by occurred_at desc offset :most - 1 limit 1

-- fragment: population
-- Answers that may be drawn for review: those that people responded to. `is_rejected` is true if the machine's newest
-- verdict on the answer is a rejection.
-- Verdicts are read by time, because one lookup per answer takes five times as long. A verdict is given after its
-- answer; an hour allows for clocks that differ.
with answers as materialized (
    select conversation_id, turn_id, min(occurred_at) as occurred_at
    from messages
    where tenant = :tenant and project = :project and sender_type = 'agent' and turn_id is not null
      and occurred_at >= :start and occurred_at < :end
    group by conversation_id, turn_id
), judged as materialized (
    -- A turn has several verdicts if several messages were judged: the newest verdict counts.
    select distinct on (f.conversation_id, f.turn_id)
           f.conversation_id, f.turn_id, coalesce(f.reaction, f.overruled_reaction) as machine
    from feedbacks f
    where f.tenant = :tenant and f.project = :project and f.occurred_at >= :start - {hour} and {is_verdict(f)}
    order by f.conversation_id, f.turn_id, f.occurred_at desc, f.feedback_id desc
), spoken as materialized (
    -- The last message of a person in each conversation, by one index lookup.
    select c.conversation_id, last.occurred_at
    from (select distinct conversation_id from answers) c
    cross join lateral (
        select m.occurred_at from messages m
        where m.conversation_id = c.conversation_id and m.tenant = :tenant and m.project = :project
          and m.sender_type = 'human' and m.content <> ''
        order by m.occurred_at desc, m.sequence desc limit 1
    ) last
), population as (
    select a.conversation_id, a.turn_id, j.machine is not distinct from 'not_ok' as is_rejected
    from answers a
    left join judged j on j.conversation_id = a.conversation_id and j.turn_id = a.turn_id
    left join spoken s on s.conversation_id = a.conversation_id
    where j.machine is not null or s.occurred_at > a.occurred_at
)

-- name: draw_reviews
{population}, ranked as (
    select p.conversation_id, p.turn_id, row_number() over (partition by p.is_rejected order by random()) as rank
    from (select * from population order by conversation_id, turn_id) p -- so that a seed of random() repeats a draw
    where not exists (
        select from audit_draws d
        where d.conversation_id = p.conversation_id and d.turn_id = p.turn_id
          and d.tenant = :tenant and d.project = :project)
)
insert into audit_draws (tenant, project, conversation_id, turn_id, assignee, drawn_at)
select :tenant, :project, conversation_id, turn_id, :assignee, :now from ranked
where rank <= :half::int
order by random()
on conflict do nothing

-- name: draw_second_reviews
-- Drawn answers of the window that others have reviewed, and :assignee neither has nor is to review.
insert into audit_draws (tenant, project, conversation_id, turn_id, assignee, drawn_at)
select :tenant, :project, d.conversation_id, d.turn_id, :assignee, :now
from {draws} d
where exists (
    select from messages m
    where m.tenant = :tenant and m.project = :project and m.conversation_id = d.conversation_id
      and m.turn_id = d.turn_id and m.sender_type = 'agent' and m.occurred_at >= :start and m.occurred_at < :end)
  and exists (select from feedbacks r where {is_review(r, d)})
  and not exists (select from feedbacks r where {is_review(r, d)} and r.user_id = :assignee)
  and not :assignee = any(d.assignees)
order by random() limit :count
on conflict do nothing

-- fragment: is_review(row, turn)
{row}.conversation_id = {turn}.conversation_id and {row}.turn_id = {turn}.turn_id and {row}.origin = 'reviewer'
    and {row}.reaction is not null and {row}.tenant = :tenant and {row}.project = :project

-- fragment: draws
-- The newest 1,000 drawn turns: older reviews concern older detectors, and a page waits for these queries.
(
    select conversation_id, turn_id, array_agg(assignee) as assignees from audit_draws
    where tenant = :tenant and project = :project
    group by conversation_id, turn_id order by max(id) desc limit 1000
)

-- fragment: pending_draws
-- Draws without a review by their assignee, or by anyone if they have none. With :reviewer, only those that this
-- reviewer is to review.
audit_draws d
where d.tenant = :tenant and d.project = :project and (:reviewer::text is null or d.assignee in ('', :reviewer))
  and not exists (select from feedbacks r where {is_review(r, d)} and d.assignee in ('', r.user_id))
  and exists (select from messages m
      where m.tenant = :tenant and m.project = :project and m.conversation_id = d.conversation_id
        and m.turn_id = d.turn_id)

-- name: list_pending_reviews
select d.id, d.conversation_id, d.turn_id, d.assignee, d.drawn_at from {pending_draws}
order by d.id <= :after, d.id
limit :limit

-- name: turn_of_draw
select conversation_id, turn_id, null::bigint as occurred_at from audit_draws
where id = :id and tenant = :tenant and project = :project

-- name: count_pending_reviews
select count(*) from {pending_draws}

-- name: count_samples
{population}
select p.is_rejected, count(*)::int as answers, count(review.reaction)::int as reviewed,
       count(*) filter (where review.reaction = 'not_ok')::int as rejected
from population p
left join (select distinct conversation_id, turn_id from audit_draws where tenant = :tenant and project = :project) d
    on d.conversation_id = p.conversation_id and d.turn_id = p.turn_id
left join lateral {review_of(d)} review on true
group by p.is_rejected

-- name: list_disagreements
-- The drawn turns with reviews by several reviewers. Those on which the reviewers differ come first, then the newest.
select d.conversation_id, d.turn_id, count(distinct r.reaction) = 1 as is_unanimous,
       array_agg(r.user_id || ': ' || r.reaction order by r.user_id) as reviews
from {draws} d join feedbacks r on {is_review(r, d)}
group by d.conversation_id, d.turn_id having count(distinct r.user_id) > 1
order by is_unanimous, max(r.occurred_at) desc
