"""Roll-ups: counts of effective reactions per hour and day, updated for the hours in which feedback has changed.

One snapshot counts an hour and deletes the hour's stale marks, so marks of changes that it does not show stay. Two
concurrent changes of one turn do not see each other, so neither marks the other's hour. Therefore a mark stays until
all transactions that were running when the mark was first seen have ended. The hour is then counted with both changes.
`queries/rolled.py` reads the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import asyncpg

from contracts.instants import DAY, MINUTE
from servicekit.clock import Clock, SystemClock
from servicekit.db.pools import PLANNED_FREELY

HOUR: Final = 60 * MINUTE
QUIET_SECONDS: Final = 10.0
"""Time without changes after which a stale hour is counted."""
LONGEST_SECONDS: Final = 300.0
"""Maximum time that an hour stays stale while it keeps changing."""
WARNING_MINUTES: Final = 15
"""Age at which an open transaction that delays counting causes a warning."""
_AT_ONCE: Final = 48
"""Maximum number of hours counted in one transaction, to stay under the statement timeout."""
_ONE_AT_A_TIME: Final = "select pg_try_advisory_xact_lock(hashtext('agent-feedback rollups'))"
WAIT_FOR_COUNT: Final = "select pg_advisory_xact_lock(hashtext('agent-feedback rollups'))"
"""Statement that waits for a running count and blocks other counts until the end of the transaction."""
_LOOK: Final = """
select pg_current_snapshot()::text as seen, pg_current_xact_id()::text::bigint as next
where exists (select from stale_hours)
"""
_SETTLED: Final = "pg_visible_in_snapshot(written_by, ${}::text::pg_snapshot)"
_DUE: Final = f"""
select tenant, project, hour from stale_hours cross join lateral (select {_SETTLED.format(3)} as settled) s
group by tenant, project, hour
having bool_and(settled) and max(marked_at) <= now() - make_interval(secs => $1)
    or min(marked_at) filter (where settled) <= now() - make_interval(secs => $2)
order by hour desc limit $4
"""
_HOURS: Final = "unnest($1::text[], $2::text[], $3::bigint[]) as due (tenant, project, hour)"
_CLEAN: Final = f"""
delete from stale_hours s using {_HOURS}
where s.tenant = due.tenant and s.project = due.project and s.hour = due.hour and {_SETTLED.format(4)}
"""
_DROP: Final = f"""
delete from rollups r using {_HOURS}
where r.tenant = due.tenant and r.project = due.project and r.start = due.hour
  and r.grain in ('hour', 'total', 'reason hour', 'judgement hour')
"""
REASONS: Final = """(
    select case e.origin when 'machine' then 'rule' else 'tag' end as kind, tag as reason, e.reaction
    from unnest(e.tags) as t (tag)
    union all
    select 'correction_type', e.correction_type, e.reaction where e.correction_type is not null
)"""
"""Subselect for a lateral join with a feedback row `e`: its reasons, each with the row's reaction."""
BINS: Final = 20
"""Number of confidence bins of equal width for counts of verdicts."""
# Round first: a computed confidence may be below the start of its bin by the last bits.
_BIN: Final = f"least(floor(round(e.confidence * {BINS}e6) / 1e6)::int, {BINS - 1})::text"
JUDGEMENTS: Final = f"""(
    select 'verdict' as kind, {_BIN} as reason, e.reaction where e.origin = 'machine'
    union all
    select e.reaction, {_BIN}, p.reaction from effective p
    where e.origin = 'machine' and p.origin <> 'machine' and p.tenant = e.tenant and p.project = e.project
      and p.conversation_id = e.conversation_id and p.turn_id = e.turn_id
)"""
"""Subselect for a lateral join with a row `e` of `effective_or_overruled`: a machine verdict in its confidence bin,
once alone, and once for each person's verdict and for the review on the same turn."""
_SUMS: Final = """count(*) filter (where {0}.reaction = 'ok'), count(*) filter (where {0}.reaction = 'neutral'),
       count(*) filter (where {0}.reaction = 'not_ok'), sum(e.confidence)"""
_COLUMNS: Final = """tenant, project, grain, start, origin, agent_id, agent_version, model, kind, reason,
    ok, neutral, not_ok, confidence"""


def _counted(grain: str, feedback: str, beside: str) -> str:
    return f"""
select e.tenant, e.project, '{grain}', e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason,
       {_SUMS.format("r")}
from {feedback} e cross join lateral {beside} r
group by e.tenant, e.project, e.hour, e.origin, e.agent_id, e.agent_version, e.model, r.kind, r.reason
"""


_OF_HOURS: Final = f"""
    select due.hour, e.*
    from {_HOURS}
    cross join lateral (
        select tenant, project, conversation_id, turn_id, origin, agent_id, agent_version, model, reaction, confidence,
               tags, correction_type
        from {{view}}
        where tenant = due.tenant and project = due.project
          and occurred_at >= due.hour and occurred_at < due.hour + {HOUR}
        offset 0 -- one index lookup per hour: a plain join might scan the whole table
    ) e
"""
_COUNT: Final = f"""
with said as materialized ({_OF_HOURS.format(view="effective")}),
judged as materialized ({_OF_HOURS.format(view="effective_or_overruled")} where e.origin = 'machine')
insert into rollups ({_COLUMNS})
select tenant, project, case grouping(agent_id) when 0 then 'hour' else 'total' end, hour,
       origin, agent_id, agent_version, model, null, null, {_SUMS.format("e")}
from said e
group by grouping sets
    ((tenant, project, hour, origin, agent_id, agent_version, model), (tenant, project, hour, origin))
union all {_counted("reason hour", "said", REASONS)}
union all {_counted("judgement hour", "judged", JUDGEMENTS)}
"""
_DAYS: Final = f"""
select distinct due.tenant, due.project, due.hour / {DAY} * {DAY} as day from {_HOURS}
"""
_DROP_DAYS: Final = f"""
delete from rollups r using ({_DAYS}) d
where r.tenant = d.tenant and r.project = d.project and r.start = d.day
  and r.grain in ('day', 'reason day', 'judgement day')
"""
_COUNT_DAYS: Final = f"""
insert into rollups ({_COLUMNS})
select d.tenant, d.project, replace(r.grain, 'hour', 'day'), d.day, r.origin, r.agent_id, r.agent_version, r.model,
       r.kind, r.reason, sum(r.ok), sum(r.neutral), sum(r.not_ok), sum(r.confidence)
from ({_DAYS}) d
cross join unnest(array['hour', 'reason hour', 'judgement hour']) as of (grain)
cross join lateral (
    select * from rollups
    where tenant = d.tenant and project = d.project and grain = of.grain and start >= d.day and start < d.day + {DAY}
    offset 0 -- as above
) r
group by d.tenant, d.project, r.grain, d.day, r.origin, r.agent_id, r.agent_version, r.model, r.kind, r.reason
"""


class _SnapshotMark(NamedTuple):
    """Snapshot, and the next transaction id, which is greater than that of every current writer."""

    seen: str
    next: int


class Rollups:
    """Updater of the roll-ups, on a pool that may write to the reporting schema."""

    def __init__(self, pool: asyncpg.Pool, clock: Clock | None = None) -> None:
        self._pool = pool
        self._clock = clock or SystemClock()
        self._looked: _SnapshotMark | None = None
        self._looked_at = self._clock.monotonic()
        self._settled: str | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """Return a warning if a long transaction delays the counting of hours."""
        minutes = int(self._clock.monotonic() - self._looked_at) // 60
        if self._looked is None or minutes < WARNING_MINUTES:
            return ()
        return (
            f"reporting: a PostgreSQL transaction has been open for over {minutes} minutes and delays the roll-ups: "
            "figures stay exact but get slower (see pg_stat_activity)",
        )

    async def catch_up(self, quiet: float = QUIET_SECONDS, longest: float = LONGEST_SECONDS) -> int:
        """Count every hour that is due, at most 48 in one transaction. Return the number of hours counted.

        An hour is due if it has not changed for `quiet` seconds or has been stale for `longest` seconds. In addition,
        the transactions that were running when its stale marks were first seen must have ended.
        """
        counted = 0
        while done := await self._some(quiet, longest):
            counted += done
        return counted

    async def _some(self, quiet: float, longest: float) -> int:
        async with self._pool.acquire() as connection, connection.transaction(isolation="repeatable_read"):
            if not await connection.fetchval(_ONE_AT_A_TIME):
                return 0
            look = await connection.fetchrow(_LOOK)
            if look is None:
                self._looked = None
                return 0
            self._settle(_SnapshotMark(look["seen"], look["next"]))
            due = await connection.fetch(_DUE, quiet, longest, self._settled, _AT_ONCE)
            if due:
                await connection.execute(PLANNED_FREELY)
                columns = list(zip(*due, strict=True))
                await connection.execute(_CLEAN, *columns, self._settled)
                for statement in (_DROP, _COUNT, _DROP_DAYS, _COUNT_DAYS):
                    await connection.execute(statement, *columns)
            return len(due)

    def _settle(self, now: _SnapshotMark) -> None:
        """Keep the newest snapshot whose concurrent writers have all ended by `now`."""
        oldest_running = int(now.seen.split(":")[0])
        if self._looked is not None and now.next < self._looked.next:
            self._looked = self._settled = None  # another or a restored server: its transaction ids start lower
        for look in (now, self._looked):
            if look is not None and look.next <= oldest_running:
                self._settled = look.seen
                self._looked = None
                break
        if self._looked is None:
            self._looked, self._looked_at = now, self._clock.monotonic()
