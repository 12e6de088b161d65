-- name: count_values(source, value, narrowed)
-- Verdict counts by value of a dimension, greatest first, with the times of the first and the last verdict.
select value, origin, ok, neutral, not_ok, first_at, last_at from (
    select {value} as value, e.origin, sum(e.ok) as ok, sum(e.neutral) as neutral, sum(e.not_ok) as not_ok,
           min(e.at) as first_at, max(e.at) as last_at, sum(sum(e.ok + e.neutral + e.not_ok)) over (partition by {value}) as total
    from {source} e where {narrowed} group by 1, 2
) v
where value <> '' order by total desc, value limit 600

-- fragment: stale_in_window
stale as materialized (
    select distinct hour from stale_hours
    where tenant = :tenant and project = :project and hour > :start - {hour} and hour < :end
)

-- name: list_versions_and_models
-- Of the 200 names with most verdicts, return the first 100 in alphabetical order. Verdicts are counted like the values
-- of `list_choices`.
with {stale_in_window}
select kind, value from (
    select kind, value, row_number() over (partition by kind order by value collate "C") as n from (
        select case grouping(agent_version) when 0 then 'version' else 'model' end as kind,
               coalesce(agent_version, model) as value,
               row_number() over (partition by grouping(agent_version)
                   order by sum(verdicts) desc, coalesce(agent_version, model)) as position
        from (
            select r.agent_version, r.model, r.ok + r.neutral + r.not_ok as verdicts from rollups r
            where r.tenant = :tenant and r.project = :project and r.grain = 'day'
              and r.start > :start - {day} and r.start < :end and (:agent_id::text is null or r.agent_id = :agent_id)
            union all
            select e.agent_version, e.model, 1 from {stale_rows} e
        ) counted
        group by grouping sets ((agent_version), (model)) having coalesce(agent_version, model) <> ''
    ) v
    where position <= 200
) named
where n <= 100 order by kind, n

-- fragment: is_reply
e.feedback_type = 'implicit' and e.value is not null

-- name: count_found(view, where)
select count(*) from (select from {view} e where {where} limit :most) listed

-- fragment: turns_found(view, where)
-- Turns of the newest :limit records, excluding the turn that was reviewed last.
(
    select distinct conversation_id, turn_id from (
        select e.conversation_id, e.turn_id from {view} e
        where {where} and (e.conversation_id, e.turn_id) is distinct from (:last::text, :last_turn::text)
        order by e.occurred_at desc limit :limit
    ) newest
)

-- fragment: of_dimension_days
r.tenant = :tenant and r.project = :project and r.grain = 'dimension day'

-- name: list_choices
-- Values of each dimension in the window, at most the first 100 in alphabetical order, from the daily roll-ups. Each
-- step finds the next value by one index lookup, because a month has tens of thousands of counts. Values of stale hours
-- are read from the rows, because the roll-ups may not contain them yet.
with recursive known as (
    (select r.kind, r.reason, 1 as n from rollups r where {of_dimension_days} order by r.kind, r.reason limit 1)
    union all
    select following.kind, following.reason, case when following.kind = k.kind then k.n + 1 else 1 end
    from known k cross join lateral (
        select r.kind, r.reason from rollups r
        where {of_dimension_days}
          and (r.kind, r.reason) > (k.kind, case when k.n < 100 then k.reason else U&'\+10FFFF' end)
        order by r.kind, r.reason limit 1
    ) following
), {stale_in_window}
select kind, reason as value from known
where n <= 100 and exists (
    select from rollups r
    where {of_dimension_days} and r.kind = known.kind and r.reason = known.reason and (:agent_id::text is null or r.agent_id = :agent_id)
      and r.start > :start - {day} and r.start < :end)
union
select kind, reason from ({dimensions(stale_rows)}) s
order by kind, value

-- name: count_by_person(view, where, holds, counts)
-- Count the newest verdicts with a value by person. At most :scanned verdicts are read.
select e.origin, e.user_id, count(*) filter (where e.reaction = 'ok') as ok, count(*) as verdicts
from (
    select e.feedback_id, e.user_id, e.origin, e.reaction from (
        select * from feedbacks e where {where} and e.reaction is not null
        order by e.occurred_at desc, e.feedback_id desc limit :scanned
    ) e
    where {holds} order by e.occurred_at desc, e.feedback_id desc limit :sample
) e
where {counts} or exists (
    select from {view} counted
    where counted.feedback_id = e.feedback_id and counted.tenant = :tenant and counted.project = :project
)
group by 1, 2
