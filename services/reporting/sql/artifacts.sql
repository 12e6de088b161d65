-- fragment: artifacts_in(kind, where)
(select id, kind, role, tags, text, user_id, conversation_id, turn_id, track_id, bundle_id, occurred_at,
    case when :with_payload::boolean then payload end as payload
 from conv_messages
 where tenant = :tenant and project = :project and kind = {kind} and kind = any(:kinds::text[])
   and occurred_at >= :since and occurred_at < :until and occurred_at <> all(:not_at::bigint[])
   and (:conversation_id::text is null or conversation_id = :conversation_id)
   and (:user_id::text is null or user_id = :user_id) and (:turn_id::text is null or turn_id = :turn_id)
   and (:tags::text[] is null or tags @> :tags) and ({where})
 order by {in_order} limit :limit)

-- fragment: in_order
-- Oldest or newest first. The part that does not apply is constant.
case when :oldest_first::boolean then occurred_at end, case when not :oldest_first then occurred_at end desc, id

-- fragment: is_in_their_conversations
-- The person of a turn log is known only after grouping. Selecting the person's conversations first keeps the number of
-- groups small.
:user_id is null or conversation_id = any(array(
    select distinct conversation_id from messages
    where tenant = :tenant and project = :project and sender_id = :user_id and sender_type = 'human'
))

-- name: search_artifacts
select listed.*, (
    select name from hosted_artifacts h
    where h.tenant = :tenant and h.project = :project and h.conversation_id = listed.conversation_id
      and h.turn_id = listed.turn_id and h.artifact = listed.id and h.state = 'current'
) as hosted
from (
    select * from (
        {artifacts_in('turn.log.reaction', true)} union all {artifacts_in('turn.log', is_in_their_conversations)}
    ) of_kinds order by {in_order} limit :limit
) listed order by {in_order}

-- name: reactions_of_turn_logs
select * from (
    select r.id, r.kind, r.conversation_id, r.turn_id, r.occurred_at, r.text, r.payload,
           sum(2 * octet_length(r.text) + {overhead})
               over (partition by r.conversation_id, r.turn_id order by r.occurred_at desc, r.id) as used
    from unnest(:conversation_id::text[], :turn_id::text[]) as listed (conversation_id, turn_id)
    join conv_messages r using (conversation_id, turn_id)
    where r.tenant = :tenant and r.project = :project and r.kind = 'turn.log.reaction'
) r
where used <= {item_bytes}
