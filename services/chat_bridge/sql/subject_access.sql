-- name: held_parked
select to_jsonb(r) - '{value,record_key}'::text[] || jsonb_build_object('event', convert_from(r.value, 'UTF8')::jsonb) as held
from parked r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_erasures
select to_jsonb(r) as held from erasures r where r.tenant = :tenant and r.user_id = :user_id
