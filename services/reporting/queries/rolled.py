"""Counts of verdicts in a time window, from roll-ups if they are valid, otherwise from the feedback rows.

Both sources give the same numbers. Whole days and hours come from `rollups`. The window's edges, hours in which a step
begins, and stale hours come from the view. A single statement reads everything, in one snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from contracts.instants import DAY
from reporting.rollups import HOUR, JUDGEMENTS, REASONS
from reporting.selection import Filters, Project, TimeSpan, conditions

_ROLLED_FILTERS: Final = ("agent_id", "agent_version", "model", "origins")
_LONG: Final = 14 * DAY
"""Minimum length of a window that is counted by days; its sparklines have daily steps."""
_VOTES: Final = "e.origin, e.agent_id, e.agent_version, e.model"
_DETAILS: Final = f"{_VOTES}, r.kind, r.reason"
_RAW_SUMS: Final = """({0}.reaction = 'ok')::int as ok, ({0}.reaction = 'neutral')::int as neutral,
 ({0}.reaction = 'not_ok')::int as not_ok, e.confidence"""
_STALE: Final = f"""with stale as materialized (
    select distinct hour, hour / {DAY} * {DAY} as day from (
        select hour from stale_hours where tenant = $1 and project = $2 and hour >= ${{}} and hour < ${{}}
        union all select unnest(${{}}::bigint[])
    ) h
)"""
_BESIDE: Final = {"reason": REASONS, "judgement": JUDGEMENTS}
"""Subselect that is counted instead of the feedback row itself, by the first word of the grain."""


class CountSource(NamedTuple):
    """Subselect for a `from` clause, and the values of its parameters.

    Its columns are `at`, `origin`, `agent_id`, `agent_version`, `model`, the counts `ok`, `neutral` and `not_ok`, and
    `confidence`, a sum. `at` is the time of the feedback, or the start of its hour or day, in microseconds. Sources of
    reasons and judgements also have `kind` and `reason`.
    """

    sql: str
    values: list[Any]


def votes(at: Project, span: TimeSpan, filters: Filters, *, by_days: bool = True) -> CountSource:
    """Return the source of the window's verdicts; with `by_days`, long windows are counted by days."""
    return _source(at, span, filters, "hour", "day" if by_days and span.end - span.start >= _LONG else None)


def steps(at: Project, span: TimeSpan, filters: Filters, starts: Sequence[int]) -> CountSource:
    """Return the source of the window's verdicts by hours, or by single rows in hours that contain one of `starts`.

    The agent columns are null unless the filters select an agent, a version or a model.
    """
    of_agents = filters.agent_id or filters.agent_version or filters.model
    return _source(at, span, filters, "hour" if of_agents else "total", None, starts)


def reasons_given(at: Project, span: TimeSpan, filters: Filters) -> CountSource:
    """Return the source of the window's reasons: people's tags, the machine's rules and correction types."""
    return _source(at, span, filters, "reason hour", "reason day")


def judgements(at: Project, span: TimeSpan, filters: Filters) -> CountSource:
    """Return the source of the window's machine verdicts by confidence bin, and of people's on the same turns.

    Rows of machine verdicts, including overruled ones, have the `kind` "verdict". Rows of people's verdicts have the
    machine's verdict as `kind` and the machine's `confidence`. `reason` is the number of the bin.
    """
    return _source(at, span, filters, "judgement hour", "judgement day")


def _source(
    at: Project, span: TimeSpan, filters: Filters, hours: str, days: str | None, starts: Sequence[int] = ()
) -> CountSource:
    window, narrowed, values = conditions(at, span, filters)
    counted_by = hours.partition(" ")[0]
    beside = _BESIDE.get(counted_by)
    view = "effective_or_overruled" if counted_by == "judgement" else filters.view
    columns, more, of = (_VOTES, "", "e") if beside is None else (_DETAILS, f" cross join lateral {beside} r", "r")
    given = f"select e.occurred_at as at, {columns}, {_RAW_SUMS.format(of)} from"
    first, last = -(-span.start // HOUR) * HOUR, span.end // HOUR * HOUR
    if not _may_be_rolled(filters) or first >= last:
        return CountSource(f"({given} {view} e{more} where {window}{narrowed})", values)
    broken = sorted({start // HOUR * HOUR for start in starts if start % HOUR and first <= start < last})
    first_day, last_day = -(-first // DAY) * DAY, last // DAY * DAY
    by_days = days is not None and first_day < last_day
    n = len(values)
    values += [first, last, broken, hours]
    counted = f"select e.start, {columns.replace('r.', 'e.')}, e.ok, e.neutral, e.not_ok, e.confidence from"
    here = f"e.tenant = $1 and e.project = $2{narrowed}"
    within = "e.start >= ${} and e.start < ${} and not exists (select from stale s where s.hour = e.start)"
    of_hour = f"e.grain = ${n + 4}::text"
    parts = [
        f"{given} {view} e{more} where {window}{narrowed} and e.occurred_at < ${n + 1}",
        f"{given} {view} e{more} where {window}{narrowed} and e.occurred_at >= ${n + 2}",
        f"{given} stale s cross join lateral (select * from {view} e where {here}"
        f" and e.occurred_at >= s.hour and e.occurred_at < s.hour + {HOUR} offset 0) e{more}",
    ]
    if not by_days:
        parts.append(f"{counted} rollups e where {here} and {of_hour} and {within.format(n + 1, n + 2)}")
    else:
        values += [first_day, last_day, days]
        day_is_stale = "exists (select from stale s where s.day = e.start)"
        parts += [
            f"{counted} rollups e where {here} and {of_hour} and {within.format(n + 1, n + 5)}",
            f"{counted} rollups e where {here} and {of_hour} and {within.format(n + 6, n + 2)}",
            f"{counted} rollups e where {here} and e.grain = ${n + 7}::text"
            f" and e.start >= ${n + 5} and e.start < ${n + 6} and not {day_is_stale}",
            f"{counted} (select distinct day from stale where day >= ${n + 5} and day < ${n + 6}) d"
            f" join rollups e on e.start >= d.day and e.start < d.day + {DAY}"
            f" where {here} and {of_hour} and not exists (select from stale s where s.hour = e.start)",
        ]
    return CountSource(f"({_STALE.format(n + 1, n + 2, n + 3)} {' union all '.join(parts)})", values)


def _may_be_rolled(filters: Filters) -> bool:
    given = {name for name, value in asdict(filters).items() if value not in (None, False)}
    return given <= {*_ROLLED_FILTERS, *(("feedback_type",) if filters.feedback_type == "verdict" else ())}
