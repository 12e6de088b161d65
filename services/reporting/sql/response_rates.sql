-- name: count_answered_by_conversation(narrowed, looked_up, of_turn)
-- The newest answers of the window, at most :scanned, as turns: each with the agent of its last answer. `read` is the
-- number of answers.
with looked as materialized (
    select e.conversation_id, e.turn_id, e.agent_id, e.agent_version, e.occurred_at, e.sequence from messages e
    where e.tenant = :tenant and e.project = :project and e.sender_type = 'agent' and e.agent_id is not null
      and e.occurred_at >= :start and e.occurred_at < :end{narrowed}
    order by e.occurred_at desc limit :scanned
), turns as (
    select distinct on (conversation_id, turn_id) conversation_id, turn_id, agent_id, agent_version from looked
    order by conversation_id, turn_id, occurred_at desc, sequence desc, agent_id, agent_version
), judged as materialized (
    select distinct c.conversation_id, f.turn_id
    from (select distinct {looked_up} from turns) c
    cross join lateral (
        select e.turn_id from effective e
        where e.conversation_id = c.conversation_id{of_turn} and e.origin = 'user' and e.tenant = :tenant
          and e.project = :project
        offset 0
    ) f
)
select t.agent_id, t.agent_version, t.conversation_id as cluster, count(*) as total,
       count(*) filter (where (t.conversation_id, t.turn_id) in (select conversation_id, turn_id from judged)) as responses,
       (select count(*) from looked) as read
from turns t group by 1, 2, 3

-- name: count_impressions_by_person(narrowed)
-- The newest impressions of the window, at most :scanned, by person. A response is a verdict that counts, or a rating on
-- a scale of the project's own.
with looked as materialized (
    select e.slot, e.conversation_id, e.turn_id, e.user_id, e.agent_id, e.agent_version from impressions e
    where e.tenant = :tenant and e.project = :project and e.occurred_at >= :start and e.occurred_at < :end{narrowed}
    order by e.occurred_at desc limit :scanned
)
select e.agent_id, e.agent_version, e.user_id as cluster, count(*) as total, count(*) filter (where exists (
        select from effective f where f.slot = e.slot and f.tenant = :tenant and f.project = :project
    ) or exists (
        select from live_replies r
        where r.tenant = :tenant and r.project = :project and r.conversation_id = e.conversation_id
          and r.turn_id = e.turn_id and r.user_id = e.user_id and r.rating is not null
    )) as responses, (select count(*) from looked) as read
from looked e group by 1, 2, 3
