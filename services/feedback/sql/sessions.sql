-- name: unannounced_ratings
select tenant, id, session_id_opaque, user_id_or_null, recorded_at, label, turn_count_at_end, source, schema_version,
    idempotency_key
from session_feedback where not announced order by recorded_at limit :limit

-- name: mark_ratings_announced
update session_feedback s set announced = true
from unnest(:tenant::text[], :id::uuid[]) as announced (tenant, id)
where s.tenant = announced.tenant and s.id = announced.id
