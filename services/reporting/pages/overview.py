"""Everything that the overview shows, gathered for one address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import asyncpg
from markupsafe import Markup

from contracts.instants import parse_instant
from reporting.intervals import Interval, wilson
from reporting.pages import charts
from reporting.pages.view import PERIODS, View, bucket_of, span_of, starts
from reporting.queries.newest import Newest, newest
from reporting.queries.projects import first_reaction, last_recorded
from reporting.queries.satisfaction import (
    NamedFigures,
    RankedAgent,
    Summary,
    conversations_judged,
    ranking,
    summary,
)
from reporting.scope import Filters, Project, Span

ENOUGH_VOTES = 10
"""Votes from which on an agent is ranked."""
_NEWEST = 12
_AGENTS = 12


@dataclass(frozen=True, slots=True)
class Live:
    """What is asked for again every few seconds. `stamp` changes whenever the figures may have."""

    stamp: int
    newest: list[Newest]


@dataclass(frozen=True, slots=True)
class Overview:
    """The figures of one address. `change` is in percentage points against the period before; shares are 0 to 1."""

    summary: Summary
    sure: Interval
    change: float | None
    conversations: int
    people: NamedFigures | None
    machine: NamedFigures | None
    chart_wide: Markup
    chart_narrow: Markup
    steps: list[charts.Step]
    agents: list[RankedAgent]
    agent_names: list[str]
    unranked: int
    more_agents: int
    live: Live

    @property
    def empty(self) -> bool:
        return self.summary.totals.total == 0


async def live(pool: asyncpg.Pool, at: Project, view: View, now: int) -> Live:
    first = await first_reaction(pool, at) if view.period == "all" else None
    span = span_of(view.period, now, first)
    return Live(await last_recorded(pool, at), await newest(pool, at, span, view.filters, _NEWEST))


async def overview(pool: asyncpg.Pool, at: Project, view: View, now: int) -> Overview:
    """Read what the page shows; `now` in microseconds."""
    first = await first_reaction(pool, at) if view.period == "all" else None
    span = span_of(view.period, now, first)
    bucket = bucket_of(span)
    figures = await summary(pool, at, span, bucket, view.filters)
    ranked = await ranking(pool, at, span, ENOUGH_VOTES, Filters(origin=view.origin))
    counted = {parse_instant(one.start): one for one in figures.buckets}
    steps = [_step(start, counted.get(start)) for start in starts(span, bucket)]
    origins = {one.name: one for one in figures.by_origin}
    shown = [one for one in ranked.agents if one.enough]
    return Overview(
        summary=figures,
        sure=wilson(figures.totals.ok, figures.totals.total),
        change=await _change(pool, at, view, span, figures),
        conversations=await conversations_judged(pool, at, span, view.filters),
        people=origins.get("user"),
        machine=origins.get("machine"),
        chart_wide=charts.over_time(steps, bucket, 1120, 330),
        chart_narrow=charts.over_time(steps, bucket, 350, 300),
        steps=steps,
        agents=(shown or ranked.agents)[:_AGENTS],
        agent_names=sorted({one.agent_id for one in ranked.agents} | ({view.agent} if view.agent else set())),
        unranked=len(ranked.agents) - len(shown),
        more_agents=max(0, len(shown) - _AGENTS),
        live=Live(await last_recorded(pool, at), await newest(pool, at, span, view.filters, _NEWEST)),
    )


def _step(start: int, counted: Any) -> charts.Step:
    if counted is None:
        return charts.Step(start)
    return charts.Step(start, counted.ok, counted.neutral, counted.not_ok)


async def _change(pool: asyncpg.Pool, at: Project, view: View, span: Span, figures: Summary) -> float | None:
    length = PERIODS[view.period][1]
    before = span.start - length
    if not length or before < 0 or figures.totals.total < ENOUGH_VOTES:
        return None
    was = await summary(pool, at, Span(before, span.start), "week", view.filters)
    if was.totals.total < ENOUGH_VOTES or was.totals.satisfaction is None or figures.totals.satisfaction is None:
        return None
    return 100 * (figures.totals.satisfaction - was.totals.satisfaction)
