-- name: lock_rejudgements
select pg_try_advisory_lock(hashtext('agent-feedback rejudge'))

-- fragment: current_epoch
(select coalesce(max(epoch), 0) from rejudgements)

-- name: page_to_judge
select m.tenant, m.project, m.conversation_id, m.message_id, encode(m.position, 'hex') as position, v.status, v.turn_id, v.announced,
    (extract(epoch from m.stored_at) * 1000000)::bigint as stored_at
from messages m left join verdicts v using (message_id, conversation_id, tenant, project)
where m.role = 'human' and m.at >= :since and (m.conversation_id, m.tenant, m.project, m.position, m.message_id)
    > (:conversation_id, :tenant, :project, decode(:position, 'hex'), :message_id)
order by m.conversation_id, m.tenant, m.project, m.position, m.message_id limit :limit

-- name: begin_rejudgement
-- An epoch is at least the number of seconds since 1970, so that epochs increase even after the loss of the database.
insert into rejudgements (epoch, since, detector)
select greatest(coalesce(max(epoch), 0) + 1, extract(epoch from now())::bigint), :since, :detector from rejudgements
returning epoch

-- name: latest_rejudgement
select * from rejudgements order by epoch desc limit 1

-- name: note_progress
update rejudgements set position = :position, judged = :judged, counts = :counts where epoch = :epoch

-- name: finish_rejudgement
update rejudgements set finished_at = now() where epoch = :epoch

-- name: count_to_judge
select count(*) from messages m where m.role = 'human' and m.at >= :since

-- name: other_detectors
select version from detectors where version <> :version and seen_at > now() - make_interval(mins => 10) order by 1

-- name: note_detector
insert into detectors (version) values (:version) on conflict (version) do update set seen_at = now()

-- name: recent_detectors
select version from detectors where seen_at > now() - make_interval(mins => :minutes) order by version

-- name: forget_detectors
delete from detectors where seen_at < now() - make_interval(days => 1)
