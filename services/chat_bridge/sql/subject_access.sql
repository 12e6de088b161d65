-- name: held_parked
-- The ids in an event may be numbers instead of texts.
select to_jsonb(r) - '{value,record_key}'::text[] || jsonb_build_object('event', e.event) as held
from parked r cross join lateral (select convert_from(r.value, 'UTF8')::jsonb as event) e
where r.tenant = :tenant and :user_id in (e.event ->> 'senderId', e.event ->> 'userId', e.event ->> 'authorId')

-- name: held_erasures
select to_jsonb(r) as held from erasures r where r.tenant = :tenant and r.user_id = :user_id
