-- fragment: delivery_columns
receiver, subject, event_id, topic, revision, tenant, user_id, occurred_at, event, traceparent, project, follows

-- fragment: of_receiver
receiver = :receiver and tenant = :tenant and project = :project

-- name: upsert_deliveries
insert into deliveries as d ({delivery_columns}, created_at, next_at)
select *, :now, :now from unnest(:receiver::text[], :subject::text[], :event_id::text[], :topic::text[],
    :revision::bigint[], :tenant::text[], :user_id::text[], :occurred_at::bigint[], :event::text[],
    :traceparent::text[], :project::text[], :follows::text[])
on conflict (receiver, tenant, project, subject) do update set event_id = excluded.event_id,
    revision = excluded.revision, user_id = excluded.user_id, occurred_at = excluded.occurred_at,
    event = excluded.event, traceparent = excluded.traceparent,
    created_at = excluded.created_at, next_at = excluded.next_at, attempts = 0, dead = false, last_answer = null
where d.revision < excluded.revision

-- name: drop_deliveries
delete from deliveries d using unnest(:subject::text[], :revision::bigint[]) as ended (subject, revision)
where d.subject = ended.subject and d.revision <= ended.revision

-- name: due_channels
-- The alert channels with due announcements, the longest wait first.
select receiver, tenant, project from deliveries where not dead and project > '' and next_at <= :now
group by receiver, tenant, project order by min(next_at)

-- name: claim_deliveries
-- Materialized, because a plan that runs the subselect again would claim more rows than the limit.
with due as materialized (
    select subject from deliveries d where {of_receiver} and not dead and next_at <= :now and not exists (
        select from deliveries e
        where e.receiver = d.receiver and e.tenant = d.tenant and e.project = d.project and e.subject = d.follows
          and not e.dead)
    order by next_at, created_at limit :limit for update skip locked)
update deliveries set next_at = :until where {of_receiver} and subject = any(array(select subject from due))
returning {delivery_columns}, attempts

-- name: delete_delivered
delete from deliveries where {of_receiver} and subject = :subject and revision = :revision

-- name: note_failure
update deliveries
set attempts = :attempts, next_at = coalesce(:next_at, next_at), dead = :next_at::bigint is null, last_answer = :answer
where {of_receiver} and subject = :subject and revision = :revision

-- name: count_deliveries
select receiver, count(*) filter (where not dead) as waiting, count(*) filter (where dead) as dead,
    min(created_at) as oldest, (array_agg(last_answer order by next_at desc) filter (where last_answer is not null))[1]
        as last_answer
from deliveries where tenant = :tenant and project = :project group by receiver

-- name: replay_deliveries
update deliveries set dead = false, attempts = 0, next_at = :now where {of_receiver}

-- name: held_receipts
-- Receipts of erasures are deliveries without a receiver: the mirror writes them to the log.
select subject, event, traceparent from deliveries where project = '' and receiver = '' and not dead order by created_at, subject

-- name: delete_receipts
delete from deliveries where receiver = '' and subject = any(:subjects::text[])
