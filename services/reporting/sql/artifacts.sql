-- name: search_artifacts(rows, order)
select found.*, (
    select name from hosted_artifacts h
    where h.tenant = :tenant and h.project = :project and h.conversation_id = found.conversation_id
      and h.turn_id = found.turn_id and h.artifact = found.id and h.state = 'current'
) as hosted
from (select * from ({rows}) found order by {order} limit :limit) found order by {order}

-- name: reactions_of_turn_logs
select * from (
    select r.id, r.conversation_id, r.turn_id, r.occurred_at, r.text, r.payload,
           sum(2 * octet_length(r.text) + {overhead})
               over (partition by r.conversation_id, r.turn_id order by r.occurred_at desc, r.id) as used
    from unnest(:conversation_id::text[], :turn_id::text[]) as listed (conversation_id, turn_id)
    join reaction_artifacts r using (conversation_id, turn_id)
    where r.tenant = :tenant and r.project = :project
) r
where used <= {item_bytes}

-- fragment: artifacts_in(view, payload, where, order)
(select id, role, tags, text, user_id, conversation_id, turn_id, track_id, bundle_id, occurred_at, {payload} as payload
 from {view} where {where} order by {order} limit :limit)

-- fragment: is_in_their_conversations
-- The person of a turn log is known only after grouping. Selecting the person's conversations first keeps the number of
-- groups small.
conversation_id = any(array(
    select distinct conversation_id from messages
    where tenant = :tenant and project = :project and sender_id = :user_id and sender_type = 'human'
))
