"""Verdict counts in a time window, from roll-ups where they are valid, otherwise from feedback rows.

Both sources give the same numbers. The table `rollups` has the counts of whole hours and days. Feedback rows are
counted for hours that are only partly in the window, for hours in which a time step begins, and for stale hours
(changed since they were rolled up). A single statement reads everything, in one snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from contracts.base import Origin
from contracts.instants import DAY
from reporting.figures.votes import Votes
from reporting.model.selection import HOUR, Filters, Project, TimeSpan, conditions
from reporting.sql import SQL

_ROLLED_FILTERS: Final = {"agent_id", "agent_version", "model", "origins"}
LONG: Final = 14 * DAY
"""Minimum length, in microseconds, of a time window whose figures need only the day of each verdict, not its time."""
_ORIGINS: Final = " and e.origin || '' = any(:origins::text[])"
"""Condition on the origins for ranges of a few hours. It is an expression because PostgreSQL would otherwise read such
a range from the index of people's verdicts by giver, with one lookup per person."""
_Kind = Literal["votes", "reasons", "judgements", "dimensions"]
"""Name of the SQL fragment that selects the feedback rows."""
_VIEWS: Final = {"judgements": "effective_or_overruled"}
"""View to read, by kind. Other kinds read the view of the filters."""


class _Grains(NamedTuple):
    """Names of the hourly and daily roll-ups to read.

    If `days` is None, only hourly roll-ups are read.
    """

    hours: str
    days: str | None


class CountSource(NamedTuple):
    """Subselect of counts for a `from` clause, and its parameters by name.

    Its columns are `at`, `origin`, `agent_id`, `agent_version`, `model`, the counts `ok`, `neutral` and `not_ok`, and
    the sum `confidence`. `at` is the time of the feedback, or the start of its hour or day, in microseconds. Sources of
    reasons, dimensions and judgements also have the columns `kind` and `reason`.
    """

    sql: str
    values: dict[str, Any]


def votes(project: Project, span: TimeSpan, filters: Filters, *, by_days: bool = True) -> CountSource:
    """Return a subselect of the hourly verdict counts in a time window.

    Args:
        by_days: For days that are completely in the window, return daily instead of hourly counts.
    """
    return _source(project, span, filters, "votes", _Grains("hour", "day" if by_days else None))


def steps(project: Project, span: TimeSpan, filters: Filters, starts: Sequence[int]) -> CountSource:
    """Return a subselect of the verdict counts in a time window, for counting by time step.

    Counts are per hour. If a step starts in the middle of an hour, that hour's feedback rows are returned individually.

    If the filters select an agent, version, model or other dimension, and all steps begin at midnight UTC, counts are
    per day. If the filters select none of these, the agent columns are null.

    Args:
        starts: Start times of the steps, in microseconds.
    """
    if not (filters.agent_id or filters.agent_version or filters.model or filters.of_dimension):
        grains = _Grains("total", None)  # at most three counts per hour, fewer than a day's counts by agent
    else:
        grains = _Grains("hour", None if any(start % DAY for start in starts if start > span.start) else "day")
    return _source(project, span, filters, "votes", grains, starts)


def reasons_given(project: Project, span: TimeSpan, filters: Filters) -> CountSource:
    """Return a subselect of the verdict counts in a time window, by reason: a person's tag or a correction type."""
    return _source(project, span, filters, "reasons", _Grains("reason hour", "reason day"))


def dimensions(project: Project, span: TimeSpan, filters: Filters) -> CountSource:
    """Return a subselect of the verdict counts in a time window, by dimension and value.

    The column `kind` contains the dimension, and the column `reason` contains the value.
    """
    return _source(project, span, filters, "dimensions", _Grains("dimension hour", "dimension day"))


def judgements(project: Project, span: TimeSpan, filters: Filters) -> CountSource:
    """Return a subselect of people's verdicts on the turns that have machine verdicts in a time window.

    Overruled machine verdicts are included.

    The column `kind` contains the machine's verdict on the same turn, `confidence` its confidence, and `reason` the
    number of the confidence bin.
    """
    return _source(project, span, filters, "judgements", _Grains("judgement hour", "judgement day"))


def _source(
    project: Project,
    span: TimeSpan,
    filters: Filters,
    kind: _Kind,
    grains: _Grains,
    starts: Sequence[int] = (),
) -> CountSource:
    """Return the subselect for one kind of count."""
    if filters.feedback_type == "verdict":  # rows and roll-ups contain only verdicts
        filters = filters.replace(feedback_type=None)
    window, narrowed, values = conditions(project, span, filters)
    view = _VIEWS.get(kind, filters.view)
    first, last = -(-span.start // HOUR) * HOUR, span.end // HOUR * HOUR
    if not is_rolled(filters, kind) or first >= last:
        return CountSource(f"({SQL.part(kind, rows=view)} where {window}{narrowed})", values)
    broken = sorted({start // HOUR * HOUR for start in starts if start % HOUR and first <= start < last})
    first_day, last_day = -(-first // DAY) * DAY, last // DAY * DAY
    rolled_filter, of_dimension = narrowed, filters.of_dimension
    if of_dimension is not None:
        field, dimension, value = of_dimension
        grains = _Grains("dimension hour", grains.days and "dimension day")
        rolled_filter = conditions(project, span, filters.replace(**{field: None}))[1]
        rolled_filter += " and e.kind = :dimension::text and e.reason = :dimension_value::text"
        values |= {"dimension": dimension, "dimension_value": value}
    values |= {"first": first, "last": last, "broken": broken, "hours": grains.hours}
    of_range = conditions(project, span, filters.replace(origins=None))[1]
    of_range += _ORIGINS if filters.origins is not None else ""
    counted = SQL.part("rolled_votes" if kind == "votes" else "rolled_details")
    of_project = f"e.tenant = :tenant and e.project = :project{rolled_filter}"
    of_hour = f"{of_project} and e.grain = :hours::text and not exists (select from stale s where s.hour = e.start)"
    # Few branches: the plan of a branch takes longer than the rows of most windows.
    parts = [SQL.part(kind, rows=SQL.part("rows_besides_rollups", view=view, narrowed=of_range))]
    if grains.days is None or first_day >= last_day:
        parts.append(f"{counted} rollups e where {of_hour} and e.start >= :first and e.start < :last")
    else:
        values |= {"first_day": first_day, "last_day": last_day, "days": grains.days}
        parts += [
            f"{counted} {SQL.part('hours_besides_days', of_hour=of_hour)}",
            f"{counted} rollups e where {of_project} and e.grain = :days::text and e.start >= :first_day"
            " and e.start < :last_day and not exists (select from stale s where s.day = e.start)",
        ]
    return CountSource(f"({SQL.part('stale_hours_given')} {' union all '.join(parts)})", values)


class CountedVotes(NamedTuple):
    """Verdict counts of one origin, agent and time step.

    `step` is the number of start times at or before the time of the verdicts. `agent_version` is None unless the counts
    are by version.
    """

    origin: Origin
    agent_id: str | None
    agent_version: str | None
    step: int
    votes: Votes


async def counted_votes(
    pool: Any, source: CountSource, starts: Sequence[int] = (), *, by_version: bool = False
) -> list[CountedVotes]:
    """Count the verdicts of a source by origin, agent and time step.

    Args:
        pool: Connection pool, or a connection.
        starts: Start times of the steps, in microseconds and ascending order.
        by_version: Count by the agent's version as well.
    """
    statement = SQL.count_votes.filled(source=source.sql)
    rows = await pool.fetch(*statement(**source.values, starts=list(starts), by_version=by_version))
    return [
        CountedVotes(origin, agent, version, step, Votes(*counts)) for origin, agent, version, step, *counts in rows
    ]


def is_rolled(filters: Filters, kind: _Kind = "votes") -> bool:
    """Return True if roll-ups can count the verdicts that match these filters."""
    if filters.of_dimension is not None and kind == "votes":
        filters = filters.replace(**{filters.of_dimension[0]: None})
    fields = {name for name, value in filters.model_dump().items() if value not in (None, False)}
    return fields <= _ROLLED_FILTERS
