"""How satisfied people are: over time, by agent, by version, by origin."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

from contracts.instants import format_instant
from reporting.answers import Answer, Counts, Time, Window
from reporting.intervals import satisfaction, wilson
from reporting.queries.counts import COUNTS, counts_of
from reporting.scope import SHIFTS, WIDTHS, Bucket, Filters, Project, Span

_MOST_GROUPS: Final = 1_000


class Figures(Counts):
    """Counts, and satisfaction = ok / (ok + not_ok + neutral), null while there are none."""

    satisfaction: float | None


class BucketFigures(Figures):
    start: Time


class NamedFigures(Figures):
    """`name` is null for feedback that says nothing about it."""

    name: str | None


class Summary(Answer):
    """Empty buckets are left out; names with most feedback come first, at most 1,000 of each kind."""

    tenant: str
    project: str
    window: Window
    bucket: Bucket
    totals: Figures
    buckets: list[BucketFigures]
    by_agent: list[NamedFigures]
    by_agent_version: list[NamedFigures]
    by_origin: list[NamedFigures]


class RankedAgent(Figures):
    """`low` and `high` bound the true satisfaction with 95 % confidence (Wilson)."""

    agent_id: str
    low: float
    high: float
    enough: bool


class Ranking(Answer):
    """Agents with at least `min_votes` come first, best lower bound first; the others follow, most votes first."""

    tenant: str
    project: str
    window: Window
    min_votes: int
    agents: list[RankedAgent]


_WITHIN: Final = """
from effective e
where e.tenant = $1 and e.project = $2 and e.occurred_at >= $3 and e.occurred_at < $4
  and ($5::text is null or e.agent_id = $5) and ($6::text is null or e.agent_version = $6)
  and ($7::text is null or e.origin = $7)
"""
_SUMMARY: Final = f"""
select grouping(e.start) = 0 as of_time, grouping(e.agent_id) = 0 as of_agent,
       grouping(e.agent_version) = 0 as of_version, grouping(e.origin) = 0 as of_origin,
       e.start, e.agent_id, e.agent_version, e.origin, {COUNTS}
from (
    select (e.occurred_at - $8::bigint) / $9::bigint * $9::bigint + $8::bigint as start,
           e.agent_id, e.agent_version, e.origin, e.reaction
    {_WITHIN}
) e
group by grouping sets ((), (e.start), (e.agent_id), (e.agent_version), (e.origin))
"""
_CONVERSATIONS: Final = f"select count(*) from (select {_WITHIN} group by e.conversation_id) c"
_FLAGS: Final = ("of_time", "of_agent", "of_version", "of_origin")
_AGENTS: Final = f"select e.agent_id, {COUNTS} {_WITHIN} group by e.agent_id"


async def summary(pool: asyncpg.Pool, at: Project, span: Span, bucket: Bucket, filters: Filters) -> Summary:
    """The figures of a window. Weeks begin on Monday; all buckets are in UTC."""
    rows = await pool.fetch(
        _SUMMARY, *at, *span, filters.agent_id, filters.agent_version, filters.origin, SHIFTS[bucket], WIDTHS[bucket]
    )
    whole = next(row for row in rows if not any(row[flag] for flag in _FLAGS))
    return Summary(
        tenant=at.tenant,
        project=at.project,
        window=window_of(span),
        bucket=bucket,
        totals=Figures(**_figures(whole)),
        buckets=sorted(
            (
                BucketFigures(start=format_instant(max(0, row["start"])), **_figures(row))
                for row in rows
                if row["of_time"]
            ),
            key=lambda one: one.start,
        ),
        by_agent=_named(rows, "of_agent", "agent_id"),
        by_agent_version=_named(rows, "of_version", "agent_version"),
        by_origin=_named(rows, "of_origin", "origin"),
    )


async def ranking(pool: asyncpg.Pool, at: Project, span: Span, min_votes: int, filters: Filters) -> Ranking:
    """Agents by what their votes prove, not by their share alone."""
    rows = await pool.fetch(_AGENTS, *at, *span, filters.agent_id, filters.agent_version, filters.origin)
    agents = []
    for row in rows:
        low, high = wilson(row["ok"], row["total"])
        enough = row["total"] >= min_votes
        agents.append(RankedAgent(agent_id=row["agent_id"], low=low, high=high, enough=enough, **_figures(row)))
    agents.sort(key=lambda one: (not one.enough, -one.low if one.enough else -one.total, one.agent_id))
    return Ranking(
        tenant=at.tenant, project=at.project, window=window_of(span), min_votes=min_votes, agents=agents[:_MOST_GROUPS]
    )


def window_of(span: Span) -> Window:
    return Window(start=format_instant(span.start), end=format_instant(span.end))


def _figures(row: asyncpg.Record) -> dict[str, Any]:
    counts = counts_of(row)
    return {**counts, "satisfaction": satisfaction(counts["ok"], counts["total"])}


def _named(rows: list[asyncpg.Record], flag: str, column: str) -> list[NamedFigures]:
    named = [NamedFigures(name=row[column], **_figures(row)) for row in rows if row[flag]]
    return sorted(named, key=lambda one: (-one.total, one.name or ""))[:_MOST_GROUPS]


async def conversations_judged(pool: asyncpg.Pool, at: Project, span: Span, filters: Filters) -> int:
    """How many conversations have a reaction in the window."""
    values = (filters.agent_id, filters.agent_version, filters.origin)
    return int(await pool.fetchval(_CONVERSATIONS, *at, *span, *values))
