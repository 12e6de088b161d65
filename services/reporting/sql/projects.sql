-- fragment: each_project_once(found, rows)
-- Each step jumps to the next (tenant, project) in the index, so the cost is two probes per project, not one per row.
-- Under row-level security a comparison of pairs would not jump: the index scan would begin at the policy's tenant.
(select tenant, project from {rows} order by tenant, project limit 1)
    union all
    select next.* from {found} last cross join lateral (
        (select r.tenant, r.project from {rows} r where r.tenant = last.tenant and r.project > last.project
         order by r.project limit 1)
        union all
        (select r.tenant, r.project from {rows} r where r.tenant > last.tenant order by r.tenant, r.project limit 1)
        order by tenant, project limit 1
    ) next

-- name: list_projects
with recursive with_messages as (
    {each_project_once(with_messages, messages)}
), with_feedback as (
    {each_project_once(with_feedback, feedbacks)}
), known as (
    select * from with_messages union select * from with_feedback
)
select tenant, project, (
    select f.written_by from feedbacks f where f.tenant = known.tenant and f.project = known.project
    order by f.written_by desc limit 1
) as written_by
from known
where (:tenant::text is null or tenant = :tenant) and (:projects::text[] is null or project = any(:projects))
order by written_by desc nulls last, tenant, project
limit :limit

-- name: list_agents
with recursive known as (
    (select agent_id from feedbacks where tenant = :tenant and project = :project and reaction is not null
     order by agent_id limit 1)
    union all
    select next.agent_id from known last cross join lateral (
        select agent_id from feedbacks f
        where f.tenant = :tenant and f.project = :project and f.agent_id > last.agent_id and f.reaction is not null
        order by f.agent_id limit 1
    ) next
)
select agent_id from known limit :limit

-- name: is_known_project
select exists (select from messages where tenant = :tenant and project = :project)
    or exists (select from feedbacks where tenant = :tenant and project = :project)

-- name: first_reaction
select occurred_at from feedbacks
where tenant = :tenant and project = :project and (reaction is not null or value is not null)
order by occurred_at limit 1

-- name: navigation
select (
    select count(*) from alerts a where a.tenant = :tenant and a.project = :project and a.over_at is null
)::int as open_alerts, exists (select from sessions s where s.tenant = :tenant) as has_sessions
