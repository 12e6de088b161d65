-- fragment: counts
-- Columns of a select from effective reactions `e`: total = user + machine + reviewer = ok + not_ok + neutral.
count(*) as total,
count(*) filter (where e.origin = 'user') as "user",
count(*) filter (where e.origin = 'machine') as machine,
count(*) filter (where e.origin = 'reviewer') as reviewer,
count(*) filter (where e.reaction = 'ok') as ok,
count(*) filter (where e.reaction = 'not_ok') as not_ok,
count(*) filter (where e.reaction = 'neutral') as neutral

-- fragment: summed_counts
-- Same columns as `counts`, for a select from a CountSource (figures/rollup_counts.py) as `e`.
coalesce(sum(e.ok), 0) as ok, coalesce(sum(e.neutral), 0) as neutral, coalesce(sum(e.not_ok), 0) as not_ok,
coalesce(sum(e.ok + e.neutral + e.not_ok) filter (where e.origin = 'user'), 0) as "user",
coalesce(sum(e.ok + e.neutral + e.not_ok) filter (where e.origin = 'machine'), 0) as machine,
coalesce(sum(e.ok + e.neutral + e.not_ok) filter (where e.origin = 'reviewer'), 0) as reviewer,
coalesce(sum(e.ok + e.neutral + e.not_ok), 0) as total

-- name: count_all
with conversations as (
    select {counts} from effective e group by e.tenant, e.project, e.conversation_id
)
select count(*) as conversations, coalesce(sum(total), 0) as total, coalesce(sum("user"), 0) as "user",
    coalesce(sum(machine), 0) as machine, coalesce(sum(reviewer), 0) as reviewer, coalesce(sum(ok), 0) as ok,
    coalesce(sum(not_ok), 0) as not_ok, coalesce(sum(neutral), 0) as neutral
from conversations

-- name: summarise(source)
select grouping(e.start) = 0 as of_time, grouping(e.agent_id) = 0 as of_agent,
       grouping(e.agent_version) = 0 as of_version, grouping(e.origin) = 0 as of_origin,
       e.start, e.agent_id, e.agent_version, e.origin, {summed_counts}
from (
    select (e.at - :shift) / :width::bigint * :width::bigint + :shift as start,
           e.agent_id, e.agent_version, e.origin, e.ok, e.neutral, e.not_ok
    from {source} e
) e
group by grouping sets ((), (e.start), (e.agent_id), (e.agent_version), (e.origin))

-- name: count_votes(source)
-- Verdict counts by origin, agent and time step: the number of `:starts`, in ascending order, at or before the verdict.
-- With `:by_version`, by the agent's version as well.
select origin, agent_id, case when :by_version::boolean then agent_version end as agent_version,
    width_bucket(at, :starts::bigint[]) as step, sum(ok)::bigint as ok, sum(neutral)::bigint as neutral,
    sum(not_ok)::bigint as not_ok
from {source} e group by 1, 2, 3, 4

-- name: count_ratings(view, where)
select e.worst_rating, e.best_rating, count(*) as ratings, avg(e.rating)::float as mean from {view} e
where {where} and e.rating is not null
group by e.worst_rating, e.best_rating order by e.worst_rating, e.best_rating limit 100

-- name: list_reasons(source)
select e.reason, e.kind, {summed_counts}, sum(e.confidence) as confidence from {source} e
group by e.reason, e.kind
order by not_ok desc, total desc, e.reason, e.kind limit :limit

-- name: count_sessions
select grouping(start) = 0 as of_step, grouping(length) = 0 as of_length, start, length, count(*) as sessions,
       count(*) filter (where label = 'positive') as positive, count(*) filter (where label = 'negative') as negative,
       count(*) filter (where label = 'skip') as skipped
from (
    select label, (recorded_at - :shift) / :width::bigint * :width::bigint + :shift as start,
           width_bucket(turns, :lengths::integer[]) as length
    from sessions where tenant = :tenant and recorded_at >= :start and recorded_at < :end
) s
group by grouping sets ((), (start), (length))
order by start, length
