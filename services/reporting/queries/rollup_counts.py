"""Counts of verdicts in a time window, from roll-ups if they are valid, otherwise from the feedback rows.

Both sources give the same numbers. The table `rollups` has the counts of whole hours and days. Rows are counted for
partly covered hours, for hours in which a time step begins, and for stale hours (changed since they were rolled up).
A single statement reads everything, in one snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final, Literal, NamedTuple

from contracts.instants import DAY
from reporting.queries.selection import HOUR, Filters, Project, TimeSpan, conditions
from reporting.sql import SQL

_ROLLED_FILTERS: Final = ("agent_id", "agent_version", "model", "origins")
LONG: Final = 14 * DAY
"""Minimum length of a time window in which the day of a verdict is precise enough for any figure, in microseconds."""
_HAS_REASON: Final = " and (e.correction_type is not null or e.origin <> 'machine' and e.tags <> '{}')"
"""Condition of the index `feedbacks_reasons`: verdicts with a tag of a person or a correction type."""
_ORIGINS: Final = " and e.origin || '' = any(:origins::text[])"
"""Condition on the origins for ranges of a few hours. It is an expression, because PostgreSQL would otherwise read such
a range from the index of people's verdicts by giver, which takes one lookup per person."""
_Kind = Literal["votes", "reasons", "judgements", "dimensions"]
"""Name of the SQL fragment that selects feedback rows."""
_VIEWS: Final = {"judgements": "effective_or_overruled"}
"""Name of the view by kind. Other kinds read the view of the filters."""


class _Grains(NamedTuple):
    """Grains of the roll-ups to read; only hours are read if `days` is None."""

    hours: str
    days: str | None


class CountSource(NamedTuple):
    """Subselect for a `from` clause, and its parameters by name.

    Its columns are `at`, `origin`, `agent_id`, `agent_version`, `model`, the counts `ok`, `neutral` and `not_ok`, and
    the sum `confidence`. `at` is the time of the feedback, or the start of its hour or day, in microseconds. Sources
    of reasons, dimensions and judgements also have the columns `kind` and `reason`.
    """

    sql: str
    values: dict[str, Any]


def votes(at: Project, span: TimeSpan, filters: Filters, *, by_days: bool = True) -> CountSource:
    """Return a subselect of the window's verdict counts per hour; per day for its whole days if `by_days`."""
    return _source(at, span, filters, "votes", _Grains("hour", "day" if by_days else None))


def steps(at: Project, span: TimeSpan, filters: Filters, starts: Sequence[int]) -> CountSource:
    """Return a subselect of the window's verdict counts per hour, with single rows for hours that contain a step start.

    The agent columns are null unless the filters select an agent, a version, a model or a dimension. With such a
    filter, the counts are per day if all steps begin at midnight UTC.
    """
    if not (filters.agent_id or filters.agent_version or filters.model or filters.of_dimension):
        grains = _Grains("total", None)  # at most three counts per hour, fewer than a day's counts by agent
    else:
        grains = _Grains("hour", None if any(start % DAY for start in starts if start > span.start) else "day")
    return _source(at, span, filters, "votes", grains, starts)


def reasons_given(at: Project, span: TimeSpan, filters: Filters, *, rules: bool = True) -> CountSource:
    """Return a subselect of the window's counts by reason: people's tags, the machine's rules and correction types.

    If `rules` is False, verdicts without a tag or correction type are not read, so counts of rules are incomplete.
    """
    grains = _Grains("reason hour", "reason day")
    return _source(at, span, filters, "reasons", grains, of_rows="" if rules else _HAS_REASON)


def dimensions(at: Project, span: TimeSpan, filters: Filters) -> CountSource:
    """Return a subselect of the window's verdict counts by dimension (column `kind`) and value (column `reason`)."""
    return _source(at, span, filters, "dimensions", _Grains("dimension hour", "dimension day"))


def judgements(at: Project, span: TimeSpan, filters: Filters) -> CountSource:
    """Return a subselect of the window's machine verdicts by confidence bin, with people's verdicts on the same turns.

    Rows of machine verdicts, including overruled ones, have the `kind` "verdict". Rows of people's verdicts have the
    machine's verdict as `kind` and the machine's `confidence`. `reason` is the bin number.
    """
    return _source(at, span, filters, "judgements", _Grains("judgement hour", "judgement day"))


def _source(
    at: Project,
    span: TimeSpan,
    filters: Filters,
    kind: _Kind,
    grains: _Grains,
    starts: Sequence[int] = (),
    *,
    of_rows: str = "",
) -> CountSource:
    """Return the source of a kind. `of_rows` is a further SQL condition on feedback rows, starting with `and`."""
    window, narrowed, values = conditions(at, span, filters)
    view = _VIEWS.get(kind, filters.view)
    first, last = -(-span.start // HOUR) * HOUR, span.end // HOUR * HOUR
    if not _may_be_rolled(filters, kind) or first >= last:
        return CountSource(f"({SQL.part(kind, rows=view)} where {window}{narrowed}{of_rows})", values)
    broken = sorted({start // HOUR * HOUR for start in starts if start % HOUR and first <= start < last})
    first_day, last_day = -(-first // DAY) * DAY, last // DAY * DAY
    rolled_filter, of_dimension = narrowed, filters.of_dimension
    if of_dimension is not None:
        field, dimension, value = of_dimension
        grains = _Grains("dimension hour", grains.days and "dimension day")
        rest: dict[str, Any] = {field: None}
        rolled_filter = conditions(at, span, replace(filters, **rest))[1]
        rolled_filter += " and e.kind = :dimension::text and e.reason = :dimension_value::text"
        values |= {"dimension": dimension, "dimension_value": value}
    values |= {"first": first, "last": last, "broken": broken, "hours": grains.hours}
    of_range = conditions(at, span, replace(filters, origins=None))[1]
    of_range += (_ORIGINS if filters.origins is not None else "") + of_rows
    counted = SQL.part("rolled_votes" if kind == "votes" else "rolled_details")
    here = f"e.tenant = :tenant and e.project = :project{rolled_filter}"
    of_hour = f"{here} and e.grain = :hours::text and not exists (select from stale s where s.hour = e.start)"
    # Few branches: the plan of a branch takes longer than the rows of most windows.
    parts = [SQL.part(kind, rows=SQL.part("rows_besides_rollups", view=view, narrowed=of_range))]
    if grains.days is None or first_day >= last_day:
        parts.append(f"{counted} rollups e where {of_hour} and e.start >= :first and e.start < :last")
    else:
        values |= {"first_day": first_day, "last_day": last_day, "days": grains.days}
        parts += [
            f"{counted} {SQL.part('hours_besides_days', of_hour=of_hour)}",
            f"{counted} rollups e where {here} and e.grain = :days::text and e.start >= :first_day"
            " and e.start < :last_day and not exists (select from stale s where s.day = e.start)",
        ]
    return CountSource(f"({SQL.part('stale_hours_given')} {' union all '.join(parts)})", values)


def is_rolled(filters: Filters) -> bool:
    """Return True if roll-ups can count the verdicts that match these filters."""
    return _may_be_rolled(filters, "votes")


def _may_be_rolled(filters: Filters, kind: _Kind) -> bool:
    if filters.of_dimension is not None and kind == "votes":
        rest: dict[str, Any] = {filters.of_dimension[0]: None}
        filters = replace(filters, **rest)
    given = {name for name, value in asdict(filters).items() if value not in (None, False)}
    return given <= {*_ROLLED_FILTERS, *(("feedback_type",) if filters.feedback_type == "verdict" else ())}
