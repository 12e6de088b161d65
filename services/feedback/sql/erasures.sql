-- name: note_erasure_requests
insert into erasure_requests (tenant, request_id, user_id, requested_at)
select * from unnest(:tenant::text[], :request_id::text[], :user_id::text[], :requested_at::bigint[])
on conflict do nothing

-- name: note_erasure_receipts
insert into erasure_receipts (tenant, request_id, service, removed, confirmed_at)
select * from unnest(:tenant::text[], :request_id::text[], :service::text[], :removed::bigint[],
    :confirmed_at::bigint[])
on conflict do nothing

-- name: erasure_status
select q.user_id, q.requested_at, r.service, r.confirmed_at, r.removed
from erasure_requests q left join erasure_receipts r using (tenant, request_id)
where q.tenant = :tenant and q.request_id = :request_id order by r.service

-- name: pseudonymise_messages
-- The sender is replaced, not deleted, because a person may not rate a thread in which only other people asked.
update messages set sender_id = :pseudonym, user_type = null where (message_id, conversation_id, tenant, project) in (
    select message_id, conversation_id, tenant, project from messages
    where sender_id = :user_id and tenant = :tenant and sender_type <> 'agent' and at <= :until
        and (sender_id <> :pseudonym or user_type is not null) limit :limit)

-- name: await_ratings
-- Inserts of ratings hold a shared lock. When this lock is granted, all ratings inserted before the
-- ledger's entry are therefore committed.
select pg_advisory_xact_lock(hashtextextended(:tenant::text || ' ' || :user_id::text, 0))

-- name: anonymise_ratings
-- The rating is kept, because it counts a session and contains no text. Its key is removed, because it is derived from
-- the person's id.
update session_feedback s set user_id_or_null = null, idempotency_key = null from erasures e
where e.tenant = :tenant and e.user_id = :user_id
  and s.tenant = e.tenant and s.user_id_or_null = e.user_id and s.stored_at <= e.noted_at
