-- name: answered_by_agent
with looked as materialized (
    select e.conversation_id, e.turn_id, e.agent_id, e.agent_version, e.model, e.occurred_at, e.sequence from messages e
    where e.tenant = :tenant and e.project = :project and e.sender_type = 'agent' and e.agent_id is not null
      and e.turn_id is not null and e.occurred_at >= :start and e.occurred_at < :end
    order by e.occurred_at desc limit :scanned
), turns as materialized (
    select e.conversation_id, e.turn_id, e.agent_id
    from (
        select distinct on (conversation_id, turn_id) * from looked
        order by conversation_id, turn_id, occurred_at desc, sequence desc, agent_id, agent_version, model
    ) e
    where (:agent_id::text is null or e.agent_id = :agent_id)
      and (:agent_version::text is null or e.agent_version = :agent_version)
      and (:model::text is null or e.model = :model)
), judged as materialized (
    select distinct c.conversation_id, f.turn_id
    from (select distinct conversation_id from turns) c
    cross join lateral (
        select e.turn_id from effective e
        where e.conversation_id = c.conversation_id and e.origin = 'user' and e.user_type <> 'agent'
          and e.tenant = :tenant and e.project = :project
        offset 0
    ) f
)
select agent_id, count(*)::int as turns,
       (count(*) filter (where (conversation_id, turn_id) in (select conversation_id, turn_id from judged)))::int
           as with_feedback
from turns group by agent_id
