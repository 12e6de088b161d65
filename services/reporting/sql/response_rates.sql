-- fragment: clusters_counted(version, levels)
-- Count the clusters (conversations or people) that have the same number of rows and of responses. `level` is 0 for
-- counts by agent and version, 1 by agent, 3 over all agents. A window without rows gives one row with `level` null.
-- `read` is the number of rows read.
select c.level, c.agent_id, c.agent_version, c.total, c.responses, count(*) as clusters, l.read
from (select count(*) as read from looked) l left join (
    select grouping(m.agent_id, m.agent_version) as level, m.agent_id, m.agent_version, count(*) as total,
           count(*) filter (where m.responded) as responses
    from (select agent_id, {version} as agent_version, cluster, responded from marked) m
    group by grouping sets ({levels})
) c on true
group by c.level, c.agent_id, c.agent_version, c.total, c.responses, l.read

-- name: count_answered_by_conversation(narrowed, looked_up, of_turn, version, levels)
-- Read at most the :scanned newest answers of the window, and attribute each turn to the agent of its last answer. The
-- filters apply to these turns, so a query for a rare agent does not read more rows.
with looked as materialized (
    select e.conversation_id, e.turn_id, e.agent_id, e.agent_version, e.model, e.occurred_at, e.sequence from messages e
    where e.tenant = :tenant and e.project = :project and e.sender_type = 'agent' and e.agent_id is not null
      and e.occurred_at >= :start and e.occurred_at < :end
    order by e.occurred_at desc limit :scanned
), turns as materialized (
    select e.conversation_id, e.turn_id, e.agent_id, e.agent_version
    from (
        select distinct on (conversation_id, turn_id) * from looked
        order by conversation_id, turn_id, occurred_at desc, sequence desc, agent_id, agent_version, model
    ) e
    where true{narrowed}
), judged as materialized (
    select distinct c.conversation_id, f.turn_id
    from (select distinct {looked_up} from turns) c
    cross join lateral (
        select e.turn_id from effective e
        where e.conversation_id = c.conversation_id{of_turn} and e.origin = 'user' and e.user_type <> 'agent'
          and e.tenant = :tenant and e.project = :project
        offset 0
    ) f
), marked as materialized (
    select agent_id, agent_version, conversation_id as cluster,
           (conversation_id, turn_id) in (select conversation_id, turn_id from judged) as responded
    from turns
)
{clusters_counted(version, levels)}

-- name: count_impressions_by_person(narrowed, version, levels)
-- Read at most the :scanned newest impressions of the window, then apply the filters and count by person. A response is
-- an effective verdict, or a rating on one of the project's own scales.
with looked as materialized (
    select e.slot, e.conversation_id, e.turn_id, e.user_id, e.agent_id, e.agent_version, e.model from impressions e
    where e.tenant = :tenant and e.project = :project and e.occurred_at >= :start and e.occurred_at < :end
    order by e.occurred_at desc limit :scanned
), marked as materialized (
    select e.agent_id, e.agent_version, e.user_id as cluster, exists (
        select from effective f
        where f.slot = e.slot and f.user_type <> 'agent' and f.tenant = :tenant and f.project = :project
    ) or exists (
        select from live_replies r
        where r.tenant = :tenant and r.project = :project and r.conversation_id = e.conversation_id
          and r.turn_id = e.turn_id and r.user_id = e.user_id and r.user_type <> 'agent' and r.rating is not null
    ) as responded
    from looked e
    where true{narrowed}
)
{clusters_counted(version, levels)}
