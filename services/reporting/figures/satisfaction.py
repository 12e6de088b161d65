"""Satisfaction summary of a time window, by time, agent, agent version and origin."""

from __future__ import annotations

from typing import Annotated, Any, Final

import asyncpg
from pydantic import Field

from contracts.instants import format_instant
from reporting.figures.counts import counts_of
from reporting.figures.ratings import ScaleFigures, ratings
from reporting.figures.rollup_counts import votes
from reporting.model.responses import Counts, ProjectReport, Time, scope_of
from reporting.model.selection import SHIFTS, WIDTHS, Bucket, Filters, Project, TimeSpan, where
from reporting.sql import SQL

_MOST_GROUPS: Final = 1_000


class Figures(Counts):
    """Counts with satisfaction."""

    satisfaction: Annotated[
        float | None, Field(description="ok / (ok + not_ok + neutral), 0 to 1; null without reactions.")
    ]


class BucketFigures(Figures):
    start: Annotated[Time, Field(description="Start of the bucket, in UTC.")]


class NamedFigures(Figures):
    """Counts for one agent, version or origin. `name` is null for feedback without that field."""

    name: Annotated[str | None, Field(description="The agent, version or origin; null if unknown.")]


class Summary(ProjectReport):
    """Satisfaction in a time window. The lists by agent, version and origin have at most 1,000 entries each."""

    bucket: Annotated[Bucket, Field(description="Width of the buckets.")]
    totals: Annotated[Figures, Field(description="Counts of the whole window.")]
    replies: Annotated[
        int, Field(description="Number of replies to answers. Replies are not verdicts: no other number includes them.")
    ]
    ratings: Annotated[
        list[ScaleFigures],
        Field(description="Ratings by scale. They are verdicts, so the other numbers include them."),
    ]
    buckets: Annotated[list[BucketFigures], Field(description="Counts by time; empty buckets are left out.")]
    by_agent: Annotated[list[NamedFigures], Field(description="Counts by agent, most feedback first.")]
    by_agent_version: Annotated[list[NamedFigures], Field(description="Counts by agent version, most feedback first.")]
    by_origin: Annotated[list[NamedFigures], Field(description="Counts by origin, most feedback first.")]


_FLAGS: Final = ("of_time", "of_agent", "of_version", "of_origin")


async def summary(pool: asyncpg.Pool, project: Project, span: TimeSpan, bucket: Bucket, filters: Filters) -> Summary:
    """Return the satisfaction in a time window.

    All buckets are in UTC, and weeks begin on Monday.
    """
    source = votes(project, span, filters, by_days=bucket != "hour")
    statement = SQL.summarise.filled(source=source.sql)
    rows = await pool.fetch(*statement(**source.values, shift=SHIFTS[bucket], width=WIDTHS[bucket]))
    total = next(row for row in rows if not any(row[flag] for flag in _FLAGS))
    return Summary(
        **scope_of(project, span),
        bucket=bucket,
        totals=Figures(**_figures(total)),
        replies=await _replies(pool, project, span, filters),
        ratings=await ratings(pool, project, span, filters),
        buckets=sorted(
            (
                BucketFigures(start=format_instant(max(0, row["start"])), **_figures(row))
                for row in rows
                if row["of_time"]
            ),
            key=lambda step: step.start,
        ),
        by_agent=_named(rows, "of_agent", "agent_id"),
        by_agent_version=_named(rows, "of_version", "agent_version"),
        by_origin=_named(rows, "of_origin", "origin"),
    )


async def _replies(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters) -> int:
    """Count the replies in a time window: 0 if the filters select only verdicts."""
    if not filters.has_replies:
        return 0
    # All replies are people's. With a filter by origin, PostgreSQL may scan the table.
    condition, values = where(project, span, filters.replace(feedback_type=None, origins=None))
    statement = SQL.count_found.filled(view="feedbacks", where=f"{condition} and {SQL.part('is_reply')}")
    return int(await pool.fetchval(*statement(**values, most=None)))


def _figures(row: asyncpg.Record) -> dict[str, Any]:
    counts = counts_of(row)
    return {**counts, "satisfaction": counts["ok"] / counts["total"] if counts["total"] else None}


def _named(rows: list[asyncpg.Record], flag: str, column: str) -> list[NamedFigures]:
    named = [NamedFigures(name=row[column], **_figures(row)) for row in rows if row[flag]]
    return sorted(named, key=lambda group: (-group.total, group.name or ""))[:_MOST_GROUPS]
