-- name: held_messages
select to_jsonb(r) - '{version}'::text[] as held from messages r
where r.tenant = :tenant and r.sender_id = :user_id and r.role = 'human'

-- name: held_turns
-- The vectors are computed from the texts.
select to_jsonb(r) - '{user_version,assistant_version,user_vector,assistant_vector}'::text[]
    as held
from turns r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_verdicts
select to_jsonb(r) as held from verdicts r
join messages m using (message_id, conversation_id, tenant, project)
where r.tenant = :tenant and m.sender_id = :user_id and m.role = 'human'

-- name: held_user_reactions
select to_jsonb(r) as held from user_reactions r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_erasures
select to_jsonb(r) as held from erasures r where r.tenant = :tenant and r.user_id = :user_id
