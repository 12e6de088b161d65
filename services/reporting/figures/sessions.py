"""Counts of end-of-session ratings by time and by session length."""

from __future__ import annotations

from typing import Annotated, Any, Final

import asyncpg
from pydantic import Field

from contracts.instants import format_instant
from reporting.model.responses import ResponseModel, Time, Window
from reporting.model.selection import SHIFTS, WIDTHS, Bucket, TimeSpan
from reporting.sql import SQL

LENGTHS: Final = (0, 1, 2, 4, 8, 16, 32)
"""Lower bounds of the session lengths, in turns; the last one has no upper bound."""


class Ratings(ResponseModel):
    """Counts of session ratings. Skipped ratings do not affect `share`."""

    sessions: Annotated[int, Field(description="Number of ratings: positive + negative + skipped.")]
    positive: Annotated[int, Field(description="Number of sessions rated helpful.")]
    negative: Annotated[int, Field(description="Number of sessions rated not helpful.")]
    skipped: Annotated[int, Field(description="Number of sessions in which the person skipped the requested rating.")]
    share: Annotated[float | None, Field(description="positive / (positive + negative); null if both are 0.")]


class RatingsOfStep(Ratings):
    start: Annotated[Time, Field(description="Start of the bucket, in UTC.")]


class RatingsOfLength(Ratings):
    turns_from: Annotated[int, Field(description="Minimum number of turns.")]
    turns_to: Annotated[int | None, Field(description="Maximum number of turns; null for the longest sessions.")]


class SessionRatings(ResponseModel):
    """Session ratings of a tenant. A session belongs to no project."""

    tenant: Annotated[str, Field(description="The tenant in the path.")]
    window: Annotated[Window, Field(description="Time window: `start` inclusive, `end` exclusive.")]
    bucket: Annotated[Bucket, Field(description="Width of the buckets.")]
    totals: Annotated[Ratings, Field(description="Counts of the whole window.")]
    buckets: Annotated[list[RatingsOfStep], Field(description="Counts by time; empty buckets are left out.")]
    by_length: Annotated[
        list[RatingsOfLength], Field(description="Counts by number of turns; empty groups are left out.")
    ]


async def session_ratings(pool: asyncpg.Pool, tenant: str, span: TimeSpan, bucket: Bucket) -> SessionRatings:
    """Count the session ratings of a tenant in a time window.

    All buckets are in UTC, and weeks begin on Monday.
    """
    steps = {"shift": SHIFTS[bucket], "width": WIDTHS[bucket], "lengths": list(LENGTHS)}
    rows = await pool.fetch(*SQL.count_sessions(tenant=tenant, **span._asdict(), **steps))
    total = next(row for row in rows if not row["of_step"] and not row["of_length"])
    return SessionRatings(
        tenant=tenant,
        window=Window.of(span),
        bucket=bucket,
        totals=Ratings(**_counts(total)),
        buckets=[
            RatingsOfStep(start=format_instant(max(0, row["start"])), **_counts(row)) for row in rows if row["of_step"]
        ],
        by_length=[
            RatingsOfLength(
                turns_from=LENGTHS[row["length"] - 1],
                turns_to=LENGTHS[row["length"]] - 1 if row["length"] < len(LENGTHS) else None,
                **_counts(row),
            )
            for row in rows
            if row["of_length"]
        ],
    )


def _counts(row: asyncpg.Record) -> dict[str, Any]:
    rated = row["positive"] + row["negative"]
    counts = {name: row[name] for name in ("sessions", "positive", "negative", "skipped")}
    return {**counts, "share": row["positive"] / rated if rated else None}
