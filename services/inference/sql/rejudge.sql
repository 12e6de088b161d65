-- fragment: outdated
messages m join verdicts v using (message_id, conversation_id, tenant, project)
where (v.release, v.mode) < (:release, :mode) and m.role = 'human' and m.at >= :since

-- name: count_outdated
select count(*) from {outdated}

-- name: page_of_outdated
select m.tenant, m.project, m.conversation_id, m.message_id, m.position,
    (extract(epoch from m.stored_at) * 1000000)::bigint as stored_at
from {outdated} and (m.conversation_id, m.tenant, m.project, m.position, m.message_id)
    > (:conversation_id, :tenant, :project, :position, :message_id)
order by m.conversation_id, m.tenant, m.project, m.position, m.message_id limit :limit
