-- fragment: delivery_columns
endpoint, subject, event_id, topic, revision, tenant, user_id, occurred_at, event, traceparent

-- name: upsert_deliveries
insert into deliveries as d ({delivery_columns}, created_at, next_at)
select *, :now, :now from unnest(:endpoint::text[], :subject::text[], :event_id::text[], :topic::text[],
    :revision::bigint[], :tenant::text[], :user_id::text[], :occurred_at::bigint[], :event::text[],
    :traceparent::text[])
on conflict (endpoint, subject) do update set event_id = excluded.event_id, revision = excluded.revision,
    user_id = excluded.user_id, occurred_at = excluded.occurred_at, event = excluded.event,
    traceparent = excluded.traceparent,
    created_at = excluded.created_at, next_at = excluded.next_at, attempts = 0, dead = false, last_answer = null
where d.revision < excluded.revision

-- name: drop_deliveries
delete from deliveries d using unnest(:subject::text[], :revision::bigint[]) as ended (subject, revision)
where d.subject = ended.subject and d.revision <= ended.revision

-- name: claim_deliveries
update deliveries set next_at = :until where (endpoint, subject) in (
    select endpoint, subject from deliveries where endpoint = :endpoint and not dead and next_at <= :now
    order by next_at limit :limit for update skip locked)
returning {delivery_columns}, attempts

-- name: delete_delivered
delete from deliveries where endpoint = :endpoint and subject = :subject and revision = :revision

-- name: note_failure
update deliveries
set attempts = :attempts, next_at = coalesce(:next_at, next_at), dead = :next_at::bigint is null, last_answer = :answer
where endpoint = :endpoint and subject = :subject and revision = :revision

-- name: count_deliveries
select endpoint, count(*) filter (where not dead) as waiting, count(*) filter (where dead) as dead,
    min(created_at) as oldest, (array_agg(last_answer order by next_at desc) filter (where last_answer is not null))[1]
        as last_answer
from deliveries where tenant = :tenant group by endpoint

-- name: replay_deliveries
update deliveries set dead = false, attempts = 0, next_at = :now where tenant = :tenant and endpoint = :endpoint
