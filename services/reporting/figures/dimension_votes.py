"""Verdict counts by the values of a dimension, from roll-ups if they are valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from contracts.base import Origin
from reporting.figures.rollup_counts import LONG, dimensions, votes
from reporting.figures.votes import Votes
from reporting.model.dimensions import ATTRIBUTES, KNOWN, Dimension, dimension
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.sql import SQL

MOST_VALUES: Final = 200
"""Maximum number of values of a dimension in one query."""


def feedback_holds(by: Dimension) -> tuple[str, dict[str, Any]]:
    """Return an SQL condition for feedback rows `e`, and the condition's named parameters.

    The condition selects the rows with a certain value of the dimension. The caller must supply the value in the
    parameter `:value`.
    """
    if by.column:
        return f"e.{by.column} = :value::text", {}
    return "e.attributes ->> :attribute::text = :value::text", {"attribute": by.name[len(ATTRIBUTES) :]}


@dataclass(frozen=True, slots=True)
class ValueVotes:
    """Verdicts on answers with one value of a dimension, separately for people and the machine.

    Attributes:
        first_at: Time of the first verdict in microseconds, rounded down to the hour or day.
        last_at: Time of the last verdict in microseconds, rounded down to the hour or day.
    """

    value: str
    people: Votes
    machine: Votes
    first_at: int
    last_at: int

    def of(self, origin: Origin) -> Votes:
        return self.people if origin == "user" else self.machine


async def value_votes(
    pool: asyncpg.Pool,
    project: Project,
    span: TimeSpan,
    filters: Filters,
    by: Dimension,
    values: Sequence[str] | None = None,
) -> list[ValueVotes]:
    """Count the verdicts by value of the dimension, most verdicts first.

    Args:
        values: Values to count. If None, at most MOST_VALUES values are returned.
    """
    if by.is_rolled:
        # In a short window, versions are sorted by the hour of their first verdict.
        source = votes(project, span, filters, by_days=span.end - span.start >= LONG)
        value, of_kind = f"e.{by.column}", "true"
    else:
        source = dimensions(project, span, filters)
        value, of_kind = "e.reason", "e.kind = :kind::text"
        source.values["kind"] = by.name
    if values is not None:
        of_kind += f" and {value} = any(:compared::text[])"
        source.values["compared"] = list(values)
    statement = SQL.count_values.filled(source=source.sql, value=value, narrowed=of_kind)
    rows: dict[str, list[asyncpg.Record]] = {}
    for row in await pool.fetch(*statement(**source.values)):
        rows.setdefault(row["value"], []).append(row)
    return [_value_votes(value, some) for value, some in rows.items()]


async def known_dimensions(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, agent_id: str | None
) -> list[Dimension]:
    """Return the dimensions that have verdicts in a time window.

    Version, model and agent are always included and come first. Days that are only partly in the window may be read as
    a whole.
    """
    kinds = (await _choices(pool, project, span, agent_id)).keys()
    always = [candidate for candidate in KNOWN.values() if candidate.is_rolled or candidate.name in kinds]
    return [*always, *(dimension(kind) for kind in sorted(kinds - KNOWN.keys()))]


async def filter_choices(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, agent_id: str | None
) -> list[tuple[Dimension, list[str]]]:
    """Return the dimensions that have verdicts in a time window, each with up to 100 values in ascending order.

    Days that are only partly in the window may be read as a whole.
    """
    choices = await _choices(pool, project, span, agent_id)
    choices |= {"version": [], "model": []}
    statement = SQL.list_versions_and_models(**project._asdict(), **span._asdict(), agent_id=agent_id)
    for row in await pool.fetch(*statement):
        choices[row["kind"]].append(row["value"])
    names = [*(name for name in KNOWN if name in choices), *sorted(choices.keys() - KNOWN.keys())]
    return [(dimension(name), choices[name]) for name in names]


async def _choices(pool: asyncpg.Pool, project: Project, span: TimeSpan, agent_id: str | None) -> dict[str, list[str]]:
    """Return the values of each dimension except version and model."""
    choices: dict[str, list[str]] = {}
    statement = SQL.list_choices(**project._asdict(), **span._asdict(), agent_id=agent_id)
    for row in await pool.fetch(*statement):
        choices.setdefault(row["kind"], []).append(row["value"])
    return choices


def _value_votes(value: str, rows: list[asyncpg.Record]) -> ValueVotes:
    sides = {row["origin"]: Votes(int(row["ok"]), int(row["neutral"]), int(row["not_ok"])) for row in rows}
    return ValueVotes(
        value,
        sides.get("user", Votes()),
        sides.get("machine", Votes()),
        min(row["first_at"] for row in rows),
        max(row["last_at"] for row in rows),
    )
