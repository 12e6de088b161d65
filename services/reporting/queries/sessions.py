"""Counts how sessions were rated at their end, by step of time and by how long they were."""

from __future__ import annotations

from typing import Annotated, Any, Final

import asyncpg
from pydantic import Field

from contracts.instants import format_instant
from reporting.answers import Answer, Time, Window
from reporting.queries.satisfaction import window_of
from reporting.selection import SHIFTS, WIDTHS, Bucket, Span

LENGTHS: Final = (0, 1, 2, 4, 8, 16, 32)
"""From how many turns on a session belongs to the next length; the last one has no end."""


class Ratings(Answer):
    """Ratings of sessions. Skipped ratings count in no share."""

    sessions: Annotated[int, Field(description="All of them: positive + negative + skipped.")]
    positive: Annotated[int, Field(description="Rated helpful.")]
    negative: Annotated[int, Field(description="Rated not helpful.")]
    skipped: Annotated[int, Field(description="Asked, and not rated.")]
    share: Annotated[float | None, Field(description="positive / (positive + negative); null without either.")]


class RatingsOfStep(Ratings):
    start: Annotated[Time, Field(description="Where the step begins, in UTC.")]


class RatingsOfLength(Ratings):
    turns_from: Annotated[int, Field(description="Sessions of at least this many turns.")]
    turns_to: Annotated[int | None, Field(description="And of at most this many; null for the longest.")]


class SessionRatings(Answer):
    """Of all projects of the tenant: a session names none."""

    tenant: Annotated[str, Field(description="As in the path.")]
    window: Annotated[Window, Field(description="From `start` on, before `end`.")]
    bucket: Annotated[Bucket, Field(description="The width of the steps.")]
    totals: Annotated[Ratings, Field(description="Of the whole window.")]
    buckets: Annotated[list[RatingsOfStep], Field(description="By step of time; empty ones are left out.")]
    by_length: Annotated[list[RatingsOfLength], Field(description="By turns at the end; empty ones are left out.")]


_COUNTED: Final = """
select grouping(start) = 0 as of_step, grouping(length) = 0 as of_length, start, length, count(*) as sessions,
       count(*) filter (where label = 'positive') as positive, count(*) filter (where label = 'negative') as negative,
       count(*) filter (where label = 'skip') as skipped
from (
    select label, (recorded_at - {shift}) / {width} * {width} + {shift} as start,
           width_bucket(turns, $4::integer[]) as length
    from sessions where tenant = $1 and recorded_at >= $2 and recorded_at < $3
) s
group by grouping sets ((), (start), (length))
order by start, length
"""


async def session_ratings(pool: asyncpg.Pool, tenant: str, span: Span, bucket: Bucket) -> SessionRatings:
    """The ratings of a window. Weeks begin on Monday; all steps are in UTC."""
    statement = _COUNTED.format(shift=SHIFTS[bucket], width=WIDTHS[bucket])
    rows = await pool.fetch(statement, tenant, *span, list(LENGTHS))
    whole = next(row for row in rows if not row["of_step"] and not row["of_length"])
    return SessionRatings(
        tenant=tenant,
        window=window_of(span),
        bucket=bucket,
        totals=Ratings(**_counts(whole)),
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
