"""Data for the overview page."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import asyncpg
from fastapi import Response
from markupsafe import Markup

from contracts.base import Origin
from reporting.figures.answered import AnsweredTurns, answered_by_agent
from reporting.figures.ranking import ENOUGH_VOTES, AgentEvidence
from reporting.figures.ratings import ratings
from reporting.figures.reasons import reasons
from reporting.figures.votes import SatisfactionChange, Votes
from reporting.model.selection import Bucket, Filters, Project, TimeSpan
from reporting.pages import charts
from reporting.pages.breakdown import (
    BOTH,
    SPARK_STEPS,
    Breakdown,
    Version,
    breakdown,
    chart_steps,
    charted_origin,
)
from reporting.pages.changes import growing_issues, open_alerts
from reporting.pages.view import Link, View
from reporting.pages.visits import PageSources, Visit
from reporting.pages.zones import bucket_of, starts

_REASONS: Final = 8
_AGENTS: Final = 25
_VERSIONS: Final = 3
_MOVED: Final = 8


@dataclass(frozen=True, slots=True)
class Side:
    """Verdicts of one origin.

    `change` compares them with the previous period. It is None if either period has no verdicts.
    """

    origin: Origin
    votes: Votes
    change: SatisfactionChange | None


@dataclass(frozen=True, slots=True)
class AgentRow:
    """Verdicts on an agent.

    Attributes:
        change: Change in satisfaction since the previous period, computed from the verdicts of `origin`. None if one of
            the two periods has no such verdicts.
        origin: Origin of the verdicts that rank the agent. The sparkline shows the same verdicts.
        enough: True if there are enough of these verdicts to rank the agent.
        versions: The agent's versions with the most verdicts.
        more_versions: Number of further versions.
        answered: Counts of the agent's turns among the project's newest answers: all, and those with people's verdicts.
            None if there are none, or if a filter does not apply to answers.
    """

    agent_id: str
    people: Votes
    machine: Votes
    change: SatisfactionChange | None
    origin: Origin
    enough: bool
    steps: Sequence[Votes]
    """Verdicts of `origin` by the time steps of the sparkline."""
    versions: Sequence[str]
    more_versions: int
    answered: AnsweredTurns | None

    @property
    def spark(self) -> Markup:
        """Draw the sparkline. It is drawn on demand, because not all agents are listed."""
        return charts.spark(self.steps)

    @property
    def ranked(self) -> Votes:
        return self.machine if self.origin == "machine" else self.people


@dataclass(frozen=True, slots=True)
class SignificantChange:
    """Agent or agent version whose satisfaction changed significantly."""

    what: Version
    origin: Origin
    change: SatisfactionChange


@dataclass(frozen=True, slots=True)
class Overview:
    """Figures of the overview page. Verdicts of people, of the machine and of reviewers are never added together."""

    bucket: Bucket
    people: Side
    machine: Side
    reviews: Votes
    charted: Origin
    chart_wide: Markup
    chart_narrow: Markup
    steps: list[charts.Step]
    agents: list[AgentRow]
    more_agents: int
    moved: list[SignificantChange]
    compared: bool

    @property
    def moved_by_version(self) -> dict[Version, list[SignificantChange]]:
        """The changes by agent or version, those with the greatest change first."""
        grouped: dict[Version, list[SignificantChange]] = {}
        for change in self.moved:
            grouped.setdefault(change.what, []).append(change)
        return grouped

    @property
    def empty(self) -> bool:
        return self.people.votes.total + self.machine.votes.total + self.reviews.total == 0


async def show_overview(sources: PageSources, visit: Visit) -> Response:
    """Render the overview."""
    pool, view, filters = sources.reports, visit.view, visit.view.filters
    span = await sources.span(visit)
    # Independent statements run at the same time on several connections.
    figures, why, alerts, growing, scales, controls = await asyncio.gather(
        overview(pool, visit.project, view, span, visit.link),
        reasons(pool, visit.project, span, filters, _REASONS),
        open_alerts(pool, visit.project, filters),
        growing_issues(pool, visit.project, span, view.before(span), filters),
        ratings(pool, visit.project, span, filters),
        sources.controls(visit, span),
    )
    return visit.page(
        "overview.html",
        o=figures,
        reasons=[reason for reason in why.reasons if reason.not_ok],
        alerts=alerts,
        growing=growing,
        ratings=scales,
        **controls,
    )


async def overview(pool: asyncpg.Pool, project: Project, view: View, span: TimeSpan, link: Link) -> Overview:
    """Return the figures of the overview page."""
    bucket, earlier, filters = bucket_of(span), view.before(span), view.filters
    begins = starts(span, bucket, view.zone)
    counted, before, answered = await asyncio.gather(
        breakdown(pool, project, span, filters, begins),
        _before(pool, project, earlier, filters),
        answered_by_agent(pool, project, view.span_of_answers(span), filters),
    )
    charted = view.origin or charted_origin(counted)
    steps = chart_steps(counted, charted, begins, span, view, link)
    agents = ranked_agents(counted, before, answered)
    return Overview(
        bucket=bucket,
        people=_side("user", counted, before),
        machine=_side("machine", counted, before),
        reviews=counted.whole["reviewer"],
        charted=charted,
        chart_wide=charts.over_time(steps, bucket, 1120, 330, view.zone),
        chart_narrow=charts.over_time(steps, bucket, 350, 300, view.zone),
        steps=steps,
        agents=agents[:_AGENTS],
        more_agents=max(0, len(agents) - _AGENTS),
        moved=significant_changes(counted, before),
        compared=any(votes.total for votes in before.whole.values()),
    )


def ranked_agents(
    counted: Breakdown, before: Breakdown, answered: Mapping[str, AnsweredTurns] = MappingProxyType({})
) -> list[AgentRow]:
    """Return all agents with verdicts of people or the machine, worst first."""
    agents = [
        AgentEvidence(agent, *(counted.agents.get((origin, agent), Votes()) for origin in BOTH))
        for agent in {agent for origin, agent in counted.agents if origin in BOTH}
    ]
    rows, versions_of = [], _versions(counted)
    for evidence in sorted(agents, key=AgentEvidence.rank):
        agent = evidence.agent_id
        origin: Origin = "user" if evidence.shown() == "people" else "machine"
        versions = versions_of.get(agent, [])
        rows.append(
            AgentRow(
                agent,
                evidence.people,
                evidence.machine,
                counted.agents.get((origin, agent), Votes()).since(before.agents.get((origin, agent), Votes())),
                origin,
                evidence.judged_by() is not None,
                [counted.sparks.get((origin, agent, step), Votes()) for step in range(SPARK_STEPS)],
                versions[:_VERSIONS],
                max(0, len(versions) - _VERSIONS),
                answered.get(agent),
            )
        )
    return rows


def significant_changes(counted: Breakdown, before: Breakdown) -> list[SignificantChange]:
    """Return the agents and versions whose satisfaction changed significantly, greatest change first."""
    changes = []
    for origin in BOTH:
        pairs: list[tuple[Version, Votes, Votes]] = [
            (Version(agent, None), votes, before.agents.get((origin, agent), Votes()))
            for (of, agent), votes in counted.agents.items()
            if of == origin
        ]
        pairs += [
            (version, votes, before.versions.get((origin, version), Votes()))
            for (of, version), votes in counted.versions.items()
            if of == origin and version.name is not None
        ]
        for what, votes, was in pairs:
            change = votes.since(was)
            if change is not None and change.certain and min(votes.total, was.total) >= ENOUGH_VOTES:
                changes.append(SignificantChange(what, origin, change))
    return sorted(_one_per_cause(changes), key=lambda change: -abs(change.change.points))[:_MOVED]


def _one_per_cause(changes: Sequence[SignificantChange]) -> list[SignificantChange]:
    """Drop the changes of agents that are explained by a version that changed in the same direction."""
    of_versions = {
        (change.origin, change.what.agent_id, change.change.points > 0)
        for change in changes
        if change.what.name is not None
    }
    return [
        change
        for change in changes
        if change.what.name is not None
        or (change.origin, change.what.agent_id, change.change.points > 0) not in of_versions
    ]


def _side(origin: Origin, counted: Breakdown, before: Breakdown) -> Side:
    votes = counted.whole[origin]
    return Side(origin, votes, votes.since(before.whole[origin]))


def _versions(counted: Breakdown) -> dict[str, list[str]]:
    """Return the versions of each agent, those with the most verdicts first."""
    totals: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (_, version), votes in counted.versions.items():
        if version.name is not None:
            totals[version.agent_id][version.name] += votes.total
    return {
        agent: [name for name, _ in sorted(of.items(), key=lambda total: (-total[1], total[0]))]
        for agent, of in totals.items()
    }


async def _before(pool: asyncpg.Pool, project: Project, earlier: TimeSpan | None, filters: Filters) -> Breakdown:
    """Count the verdicts of the previous period, or return empty counts if there is none."""
    return Breakdown() if earlier is None else await breakdown(pool, project, earlier, filters)
