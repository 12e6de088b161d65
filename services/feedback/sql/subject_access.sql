-- name: held_messages
select to_jsonb(r) - '{version}'::text[] as held from messages r
where r.tenant = :tenant and r.sender_id = :user_id and r.sender_type <> 'agent'

-- name: held_session_feedback
select to_jsonb(r) as held from session_feedback r where r.tenant = :tenant and r.user_id_or_null = :user_id

-- name: held_buckets
select to_jsonb(r) as held from buckets r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_erasure_requests
select to_jsonb(r) as held from erasure_requests r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_training_choices
select to_jsonb(r) as held from training_choices r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_erasures
select to_jsonb(r) as held from erasures r where r.tenant = :tenant and r.user_id = :user_id
