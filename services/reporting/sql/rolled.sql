-- fragment: counted(row)
({row}.reaction = 'ok')::int as ok, ({row}.reaction = 'neutral')::int as neutral,
    ({row}.reaction = 'not_ok')::int as not_ok, e.confidence

-- fragment: votes(rows)
select e.occurred_at as at, e.origin, e.agent_id, e.agent_version, e.model, {counted(e)} from {rows} e

-- fragment: reasons(rows)
-- The condition permits the index feedbacks_reasons.
select e.occurred_at as at, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason, {counted(r)}
from {rows} e join lateral {reasons_of_row} r on e.correction_type is not null or e.origin <> 'machine' and e.tags <> '{}'

-- fragment: dimensions(rows)
select e.occurred_at as at, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason, {counted(r)}
from {rows} e cross join lateral {dimensions_of_row} r

-- fragment: judgements(rows)
select e.occurred_at as at, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason, {counted(r)}
from {rows} e cross join lateral {judgements_of_row} r

-- fragment: rolled_votes
select e.start, e.origin, e.agent_id, e.agent_version, e.model, e.ok, e.neutral, e.not_ok, e.confidence from

-- fragment: rolled_details
select e.start, e.origin, e.agent_id, e.agent_version, e.model, e.kind, e.reason, e.ok, e.neutral, e.not_ok, e.confidence
from

-- fragment: stale_hours_given
with stale as materialized (
    select distinct hour, hour / {day} * {day} as day from (
        select hour from stale_hours
        where tenant = :tenant and project = :project and hour >= :first and hour < :last
        union all select unnest(:broken::bigint[])
    ) h
)

-- fragment: rows_besides_rollups(view, narrowed)
-- Rows at the edges of the window and of stale hours. The limits of each range are looked up in the index by time.
(
    select :start::bigint as since, :first::bigint as until union all select :last::bigint, :end::bigint
    union all select hour, hour + {hour} from stale
) within cross join lateral (
    select * from {view} e where e.tenant = :tenant and e.project = :project{narrowed}
        and e.occurred_at >= within.since and e.occurred_at < within.until offset 0)

-- fragment: hours_besides_days(of_hour)
-- Hours before the first and after the last whole day, and those of days with stale hours.
(
    select :first::bigint as since, :first_day::bigint as until union all select :last_day::bigint, :last::bigint
    union all select distinct day, day + {day} from stale where day >= :first_day and day < :last_day
) within cross join lateral (
    select * from rollups e where {of_hour} and e.start >= within.since and e.start < within.until offset 0) e

-- fragment: stale_rows
stale s cross join lateral (
    select * from effective e where e.tenant = :tenant and e.project = :project
        and (:agent_id::text is null or e.agent_id = :agent_id)
        and e.occurred_at >= s.hour and e.occurred_at < s.hour + {hour} offset 0)
