-- name: held_messages
select to_jsonb(r) - '{version}'::text[] as held from messages r
where r.tenant = :tenant and r.sender_id = :user_id and r.sender_type <> 'agent'

-- name: held_feedbacks
select to_jsonb(r) as held from feedbacks r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_rollups
-- Roll-up counts of the tags that the person wrote.
select to_jsonb(r) as held from rollups r
where r.tenant = :tenant and r.grain in ('reason hour', 'reason day') and r.kind = 'tag' and exists (
    select from feedbacks f where f.tenant = r.tenant and f.project = r.project and f.user_id = :user_id
        and r.reason = any(f.tags))

-- name: held_issue_turns
-- Omit the vector, because it is computed from the texts. Words come from the question of `asker_id` or the rejection
-- of `user_id`.
select to_jsonb(r) - '{vector}'::text[] as held from issue_turns r
where r.tenant = :tenant and :user_id in (r.user_id, r.asker_id)

-- name: held_deliveries
select to_jsonb(r) - '{event}'::text[] || jsonb_build_object('event', r.event::jsonb) as held
from deliveries r
where r.tenant = :tenant and (r.user_id = :user_id or r.receiver = '' and r.event::jsonb ->> 'userId' = :user_id)

-- name: held_hosted_artifacts
-- Return the person's own objects, and the logs of turns on which the person gave a verdict.
select to_jsonb(r) - '{digest}'::text[] || jsonb_build_object('is_own', o.is_own) as held
from hosted_artifacts r
cross join lateral (
    select starts_with(r.artifact, 'ef:' || r.tenant || ':' || r.project || ':' || :user_id || ':' || r.conversation_id || ':')
        as is_own
) o
where r.tenant = :tenant and r.state in ('writing', 'current') and (
    o.is_own
    or r.artifact like '%:artifact:turn.log' and exists (
        select from feedbacks f where f.tenant = r.tenant and f.project = r.project and f.user_id = :user_id
            and f.conversation_id = r.conversation_id and f.turn_id = r.turn_id and f.feedback_type <> 'implicit'))

-- name: held_training_choices
select to_jsonb(r) as held from training_choices r where r.tenant = :tenant and r.user_id = :user_id

-- name: held_erasures
select to_jsonb(r) as held from erasures r where r.tenant = :tenant and r.user_id = :user_id

-- name: may_train
-- False if the person forbids training.
select coalesce((select training_allowed from training_choices where tenant = :tenant and user_id = :user_id), true)

-- name: count_of_person
-- Count a person's messages and feedback records in a tenant, and the projects that contain any of them.
with said as (
    select project from messages
    where sender_id = :user_id and tenant = :tenant and sender_type <> 'agent'
), given as (
    select project from feedbacks
    where tenant = :tenant and project = any(:projects::text[]) and user_id = :user_id
      and (reaction is not null or value is not null)
)
select (select count(*) from said) as messages, (select count(*) from given) as feedback,
    (select count(*) from (select project from said union select project from given) p) as projects
