"""Comparison page: two values of a dimension side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg
from fastapi import Response

from reporting.figures.comparison import compare
from reporting.figures.comparison_models import ValueComparison
from reporting.figures.dimension_votes import (
    MOST_VALUES,
    ValueVotes,
    known_dimensions,
    value_votes,
)
from reporting.model.dimensions import KNOWN, Dimension, dimension
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.pages.view import View
from reporting.pages.visits import PageSources, Visit

_MOST_AGENTS: Final = 5
"""Maximum number of agents (those with the most verdicts) that are searched for one with two versions."""


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """Data of the comparison page.

    Attributes:
        values: Verdict counts of each value of the dimension, in alphabetical order.
        comparison: None if there are no two values to compare.
        agent: Agent whose verdicts are counted, or None for all agents. It comes from the URL or from
            `_agent_with_versions`.
    """

    by: Dimension
    dimensions: list[Dimension]
    values: list[ValueVotes]
    comparison: ValueComparison | None
    agent: str | None

    def cases(self, value: str) -> dict[str, str | None]:
        """Return the URL parameters that filter the feedback list by this value."""
        return {"agent_id": self.agent, self.by.filter: value}


async def show_comparison(sources: PageSources, visit: Visit) -> Response:
    """Render the comparison of two values of a dimension."""
    visit = visit.with_long_period()
    span = await sources.span(visit)
    compared, controls = await asyncio.gather(
        comparison_page(sources.reports, visit.project, span, visit.view), sources.controls(visit, span)
    )
    return visit.page("compare.html", c=compared, cases=compared.cases, most_values=MOST_VALUES, **controls)


async def comparison_page(pool: asyncpg.Pool, project: Project, span: TimeSpan, view: View) -> ComparisonPage:
    """Return the data of the comparison page.

    If the user has chosen no values with verdicts, the page compares the two latest versions or, for another dimension,
    the two most frequent values. By default, the two versions belong to the same agent, because a difference between
    agents says nothing about a release.
    """
    filters, by = view.filters.replace(origins=None), dimension(view.dimension or "version")
    dimensions, values = await asyncio.gather(
        known_dimensions(pool, project, span, view.agent_id),
        value_votes(pool, project, span, filters, by),
    )
    if by not in dimensions:
        dimensions = [*dimensions, by]
    names = {votes.value for votes in values}
    a, b = (value if value in names else None for value in (view.a, view.b))
    pair, agent = _pair(a, b, by, values), view.agent_id
    if by.name == "version" and agent is None and a is None and b is None:
        agents = await value_votes(pool, project, span, filters, KNOWN["agent"])
        if len(agents) > 1:
            agent, values = await _agent_with_versions(pool, project, span, filters, agents) or (None, values)
            filters = filters.replace(agent_id=agent)
            pair = None if agent is None else _pair(None, None, by, values)
    comparison = None if pair is None else await compare(pool, project, span, filters, by, pair, counted=values)
    return ComparisonPage(by, dimensions, sorted(values, key=lambda value: value.value), comparison, agent)


async def _agent_with_versions(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, agents: Sequence[ValueVotes]
) -> tuple[str, list[ValueVotes]] | None:
    """Find the first of the agents that has verdicts on at least two versions.

    Returns:
        The agent's id and its verdict counts by version, or None if there is no such agent.
    """
    by = KNOWN["version"]
    for agent in agents[:_MOST_AGENTS]:
        values = await value_votes(pool, project, span, filters.replace(agent_id=agent.value), by)
        if len(values) > 1:
            return agent.value, values
    return None


def _pair(a: str | None, b: str | None, by: Dimension, values: Sequence[ValueVotes]) -> tuple[str, str] | None:
    """Return the two values to compare, or None if there are fewer than two.

    If the user has not chosen both, the latest version is added or, for another dimension, the most frequent value.
    """
    a = None if a == b else a
    likely = list(values)
    if by.name == "version":
        likely.sort(key=lambda votes: (votes.first_at, votes.value), reverse=True)
    others = [votes.value for votes in likely if votes.value not in (a, b)]
    b = b or (others.pop(0) if others else None)
    a = a or (others.pop(0) if others else None)
    return None if a is None or b is None else (a, b)
