-- name: try_count
select pg_try_advisory_xact_lock(hashtext('agent-feedback rollups'))

-- name: wait_for_count
-- Wait for a running count, and block other counts until the end of the transaction.
select pg_advisory_xact_lock(hashtext('agent-feedback rollups'))

-- name: writers_of_stale_hours
select pg_current_snapshot()::text as seen, pg_current_xact_id()::text::bigint as next
where exists (select from stale_hours)

-- fragment: is_settled
pg_visible_in_snapshot(written_by, :settled::text::pg_snapshot)

-- name: due_hours
select tenant, project, hour from stale_hours cross join lateral (select {is_settled} as settled) s
group by tenant, project, hour
having bool_and(settled) and max(marked_at) <= now() - make_interval(secs => :quiet)
    or min(marked_at) filter (where settled) <= now() - make_interval(secs => :longest)
order by hour desc limit :limit

-- name: analyze_unless_analyzed
-- Without statistics, PostgreSQL may count an hour by an index without the time, and read the whole project.
do $$ begin if (select reltuples < 0 from pg_class where oid = 'feedbacks'::regclass) then analyze feedbacks; end if; end $$

-- fragment: hours_given
unnest(:tenant::text[], :project::text[], :hour::bigint[]) as due (tenant, project, hour)

-- name: delete_stale_marks
delete from stale_hours s using {hours_given}
where s.tenant = due.tenant and s.project = due.project and s.hour = due.hour and {is_settled}

-- name: delete_hours
delete from rollups r using {hours_given}
where r.tenant = due.tenant and r.project = due.project and r.start = due.hour
  and r.grain in ('hour', 'total', 'reason hour', 'judgement hour', 'dimension hour')

-- fragment: reasons_of_row
-- A person's tags or the machine's correction type of a feedback row `e`, each with the row's reaction.
(
    select 'tag' as kind, tag as reason, e.reaction from unnest(e.tags) as t (tag) where e.origin <> 'machine'
    union all
    select 'correction_type', e.correction_type, e.reaction where e.correction_type is not null
)

-- fragment: bin
-- Round first: floating-point error may put a computed confidence slightly below the start of its bin.
least(floor(round(e.confidence * {bins}e6) / 1e6)::int, {bins} - 1)::text

-- fragment: judgements_of_row
-- One row for each verdict of a person or reviewer on the turn of the machine verdict `e` of `effective_or_overruled`,
-- with the confidence bin of `e`.
(
    select e.reaction as kind, {bin} as reason, p.reaction from effective p
    where e.origin = 'machine' and p.origin <> 'machine' and p.tenant = e.tenant and p.project = e.project
      and p.conversation_id = e.conversation_id and p.turn_id = e.turn_id
)

-- fragment: dimensions_of_row
-- Dimensions of a feedback row `e` and their values, each with the row's reaction.
(
    select d.kind, d.reason, e.reaction
    from (values ('bundle', e.bundle_id), ('track', e.track_id), ('intent', e.intent), ('user_type', e.user_type))
        d (kind, reason)
    where d.reason <> ''
    union all
    select d.kind, d.reason, e.reaction
    from (
        select 'strategy' as kind, e.strategy as reason
        union all select 'attributes.' || key, value from jsonb_each_text(e.attributes)
    ) d
    where d.reason <> ''
)

-- fragment: rollup_columns
tenant, project, grain, start, origin, agent_id, agent_version, model, kind, reason, ok, neutral, not_ok, confidence

-- fragment: sums(row)
count(*) filter (where {row}.reaction = 'ok'), count(*) filter (where {row}.reaction = 'neutral'),
       count(*) filter (where {row}.reaction = 'not_ok'), sum(e.confidence)

-- fragment: rows_of_hours(view)
    select due.hour, e.*
    from {hours_given}
    cross join lateral (
        select tenant, project, conversation_id, turn_id, origin, agent_id, agent_version, model, reaction, confidence,
               tags, correction_type, bundle_id, track_id, intent, user_type, strategy, attributes
        from {view}
        where tenant = due.tenant and project = due.project
          and occurred_at >= due.hour and occurred_at < due.hour + {hour}
        offset 0 -- one index lookup per hour: a plain join might scan the whole table
    ) e

-- name: count_hours
-- Count effective reactions, by reason and by dimension too, and machine verdicts with people's verdicts on the turn.
with counted as materialized ({rows_of_hours(effective)}),
verdicts as materialized ({rows_of_hours(effective_or_overruled)} where e.origin = 'machine')
insert into rollups ({rollup_columns})
select tenant, project, case grouping(agent_id) when 0 then 'hour' else 'total' end, hour,
       origin, agent_id, agent_version, model, null, null, {sums(e)}
from counted e
group by grouping sets
    ((tenant, project, hour, origin, agent_id, agent_version, model), (tenant, project, hour, origin))
union all
select e.tenant, e.project, 'reason hour', e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason,
       {sums(r)}
from counted e cross join lateral {reasons_of_row} r
group by e.tenant, e.project, e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason
union all
select e.tenant, e.project, 'dimension hour', e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason,
       {sums(r)}
from counted e cross join lateral {dimensions_of_row} r
group by e.tenant, e.project, e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason
union all
select e.tenant, e.project, 'judgement hour', e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason,
       {sums(r)}
from verdicts e cross join lateral {judgements_of_row} r
group by e.tenant, e.project, e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason

-- fragment: days_given
select distinct due.tenant, due.project, due.hour / {day} * {day} as day from {hours_given}

-- name: delete_days
delete from rollups r using ({days_given}) d
where r.tenant = d.tenant and r.project = d.project and r.start = d.day
  and r.grain in ('day', 'reason day', 'judgement day', 'dimension day')

-- name: count_days
insert into rollups ({rollup_columns})
select d.tenant, d.project, replace(r.grain, 'hour', 'day'), d.day, r.origin, r.agent_id, r.agent_version, r.model,
       r.kind, r.reason, sum(r.ok), sum(r.neutral), sum(r.not_ok), sum(r.confidence)
from ({days_given}) d
cross join unnest(array['hour', 'reason hour', 'judgement hour', 'dimension hour']) as of (grain)
cross join lateral (
    select * from rollups
    where tenant = d.tenant and project = d.project and grain = of.grain and start >= d.day and start < d.day + {day}
    offset 0 -- one index lookup per day and grain
) r
group by d.tenant, d.project, r.grain, d.day, r.origin, r.agent_id, r.agent_version, r.model, r.kind, r.reason
