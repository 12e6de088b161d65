-- name: unannounced_ratings
select tenant, id, session_id_opaque, user_id_or_null, recorded_at, label, turn_count_at_end, source, schema_version,
    idempotency_key
from session_feedback where not announced order by recorded_at limit :limit

-- name: mark_ratings_announced
-- A rating that was replaced meanwhile has another time, and is still to be announced.
update session_feedback s set announced = true
from unnest(:tenant::text[], :id::uuid[], :recorded_at::timestamptz[]) as announced (tenant, id, recorded_at)
where s.tenant = announced.tenant and s.id = announced.id and s.recorded_at = announced.recorded_at

-- name: lock_rater
select pg_advisory_xact_lock(hashtextextended(:tenant::text || ' ' || :session::text || ' ' || :user_id::text, 0))

-- name: replace_rating
-- Replaces the person's last rating of a session: the rating of the same end, or one of the minute before. A session
-- that was resumed has more turns.
update session_feedback set label = :label, recorded_at = :recorded_at, turn_count_at_end = :turns, source = :source,
    announced = false
where (tenant, id) = (
    select tenant, id from session_feedback
    where tenant = :tenant and session_id_opaque = :session and user_id_or_null = :user_id and idempotency_key is null
    order by recorded_at desc limit 1)
  and (turn_count_at_end = :turns or recorded_at > :recorded_at::timestamptz - interval '1 minute')
returning *
