"""Verdict counts in a time window, by origin, time step, agent and version."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import asyncpg

from contracts.base import Origin
from reporting.figures.rollup_counts import LONG, CountedVotes, counted_votes, steps, votes
from reporting.figures.votes import Votes
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.pages import charts
from reporting.pages.view import Link, View
from reporting.pages.zones import local

BOTH: Final[tuple[Origin, Origin]] = ("user", "machine")
"""Origins by which agents are ranked. Reviews are counted apart from the machine verdicts that they replace."""
SPARK_STEPS: Final = 14
"""Number of time steps in an agent's sparkline."""


class Version(NamedTuple):
    """Agent version.

    `name` is None if the answers have no version.
    """

    agent_id: str
    name: str | None


@dataclass(slots=True)
class Breakdown:
    """Verdict counts by origin.

    Attributes:
        whole: Counts of the entire time window.
        steps: Counts by time step of the chart, numbered from 0.
        agents: Counts by agent.
        versions: Counts by agent version.
        sparks: Counts by agent and time step of the agent's sparkline.
    """

    whole: dict[Origin, Votes] = field(default_factory=lambda: defaultdict(Votes))
    steps: dict[tuple[Origin, int], Votes] = field(default_factory=lambda: defaultdict(Votes))
    agents: dict[tuple[Origin, str], Votes] = field(default_factory=lambda: defaultdict(Votes))
    versions: dict[tuple[Origin, Version], Votes] = field(default_factory=lambda: defaultdict(Votes))
    sparks: dict[tuple[Origin, str, int], Votes] = field(default_factory=lambda: defaultdict(Votes))


async def breakdown(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, starts: Sequence[int] = ()
) -> Breakdown:
    """Count the effective reactions in a time window.

    In windows of 14 days or more, each step of a sparkline consists of whole UTC days.

    Args:
        starts: Start times of the chart's steps, in microseconds and ascending order. If empty, nothing is counted by
            time step, neither for the chart nor for the sparklines.
    """
    counted, sparks = Breakdown(), _spark_starts(span) if starts else ()
    source = votes(project, span, filters, by_days=not starts or span.end - span.start >= LONG)
    rows, rows_of_steps = await asyncio.gather(
        counted_votes(pool, source, sparks, by_version=True), _counted_steps(pool, project, span, filters, starts)
    )
    for row in rows:
        agent = row.agent_id or ""
        counted.whole[row.origin] += row.votes
        counted.agents[row.origin, agent] += row.votes
        counted.versions[row.origin, Version(agent, row.agent_version)] += row.votes
        if sparks:
            counted.sparks[row.origin, agent, row.step - 1] += row.votes
    for row in rows_of_steps:
        counted.steps[row.origin, max(0, row.step - 1)] += row.votes
    return counted


def _spark_starts(span: TimeSpan) -> list[int]:
    """Return the start times of a sparkline's steps, in microseconds."""
    return [span.start - (span.start - span.end) * step // SPARK_STEPS for step in range(SPARK_STEPS)]


async def _counted_steps(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, starts: Sequence[int]
) -> list[CountedVotes]:
    return await counted_votes(pool, steps(project, span, filters, starts), starts) if starts else []


def charted_origin(counted: Breakdown) -> Origin:
    """Return the origin whose verdicts a chart shows: people's, unless only the machine has given verdicts."""
    return "machine" if counted.whole["machine"].total and not counted.whole["user"].total else "user"


def chart_steps(
    counted: Breakdown, origin: Origin, begins: Sequence[int], span: TimeSpan, view: View, link: Link
) -> list[charts.Step]:
    """Return the time steps for a chart of one origin's verdicts.

    Each step links to the feedback from that step.
    """
    steps = []
    for number, begin in enumerate(begins):
        votes = counted.steps.get((origin, number), Votes())
        end = begins[number + 1] if number + 1 < len(begins) else span.end
        first, last = (f"{local(moment, view.zone):%Y-%m-%dT%H:%M}" for moment in (max(begin, span.start), end - 1))
        of_step = {"from": first, "to": last, "origin": origin, "feedback_type": view.feedback_type or "verdict"}
        href = link("/dashboard/feedback", period=None, **of_step)
        steps.append(charts.Step(begin, votes, href))
    return steps
