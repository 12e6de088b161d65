-- fragment: notice_columns
issue_id, resolution, user_id, tenant, project, agent_id, resolved_in, resolved_at, by_person, rejected_at, turn_count,
    conversation_ids, turn_ids

-- fragment: is_covered(row, said_at)
exists (select from erasures x where x.tenant = {row}.tenant and x.user_id = {row}.user_id
    and {said_at} <= x.erased_at + {erasure_margin})

-- name: insert_notices
-- Notify each person whose rejection is effective or was confirmed by a review. Only rejections before the resolution
-- count, because later ones may show that the issue is not resolved.
insert into resolution_notices ({notice_columns})
select issue_id, resolution, user_id, tenant, project, agent_id, resolved_in, resolved_at, bool_or(by_person),
    max(said_at), count(*)::int,
    (array_agg(conversation_id order by said_at desc, conversation_id, turn_id))[1:20],
    (array_agg(turn_id order by said_at desc, conversation_id, turn_id))[1:20]
from (
    select i.id as issue_id, i.resolution, e.user_id, i.tenant, i.project, i.agent_id, i.resolved_in, i.resolved_at,
        t.conversation_id, t.turn_id, bool_or(e.origin = 'user') as by_person, max(e.occurred_at) as said_at
    from issues i
    join issue_turns t on t.issue_id = i.id and t.tenant = i.tenant and t.project = i.project
    cross join lateral (
        select * from effective_or_overruled e
        where e.conversation_id = t.conversation_id and e.turn_id = t.turn_id and e.tenant = t.tenant
          and e.project = t.project and e.agent_id = t.agent_id and e.reaction = 'not_ok' and e.origin <> 'reviewer'
          and e.user_type <> 'agent' and e.occurred_at <= i.resolved_at
          and (e.overruled_by is null
            or exists (select from feedbacks r where r.feedback_id = e.overruled_by and r.reaction = 'not_ok'))
          and not {is_covered(e, e.occurred_at)}
        offset 0
    ) e
    where i.state = 'resolved' and i.merged_into is null and i.resolved_at > :since and i.resolved_at <= :until
      and not exists (
        select from resolution_notices n
        where n.issue_id = i.id and n.resolution = i.resolution and n.user_id = e.user_id)
    group by i.id, e.user_id, t.conversation_id, t.turn_id
) said
group by issue_id, resolution, user_id, tenant, project, agent_id, resolved_in, resolved_at
on conflict do nothing

-- name: unannounced_notices
-- Skip notices to erased people whose rows are not deleted yet.
select {notice_columns} from resolution_notices n where not announced and not {is_covered(n, n.rejected_at)}
order by resolved_at, issue_id, user_id limit :limit

-- name: mark_notices_announced
update resolution_notices n set announced = true
from unnest(:issue_id::bigint[], :resolution::int[], :user_id::text[]) as sent (issue_id, resolution, user_id)
where n.issue_id = sent.issue_id and n.resolution = sent.resolution and n.user_id = sent.user_id

-- name: delete_notices_of_person
delete from resolution_notices where (issue_id, resolution, user_id) in (
    select issue_id, resolution, user_id from resolution_notices
    where tenant = :tenant and user_id = :user_id and rejected_at <= :until limit :limit)
