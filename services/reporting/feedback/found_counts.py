"""Total number of feedback records in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import asyncpg

from reporting.feedback.search import found, looked_up, narrowed
from reporting.figures.rollup_counts import counted_votes, is_rolled, votes
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL

COUNTED: Final = 1_000
"""Maximum number of records to count if the roll-ups do not cover the filters."""


class FoundCount(NamedTuple):
    """Number of matching records.

    `complete` is False if counting stopped at COUNTED.
    """

    records: int
    complete: bool


async def found_and_counted(
    pool: asyncpg.Pool,
    project: Project,
    span: TimeSpan,
    filters: Filters,
    limit: int,
    cursor: str | None = None,
) -> tuple[Sequence[asyncpg.Record], str | None, FoundCount | None]:
    """Return one page of matching records and its cursor (see `found`), newest first, with the number of all matches.

    If the roll-ups cover the filters, verdicts are counted exactly. Otherwise, counting stops at COUNTED. If all
    matches fit on the first page, no further query is needed to count them. The number is None if the filters require
    a scan.

    Raises BadCursor if the cursor belongs to another query.
    """
    resolved = await looked_up(pool, project, filters)
    rows, following = await found(pool, project, span, filters, limit, cursor, resolved=resolved)
    if cursor is None and following is None and not resolved.scans:
        return rows, None, FoundCount(len(rows), True)
    return rows, following, await _count(pool, project, span, resolved)


async def _count(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters) -> FoundCount | None:
    if filters.scans:
        return None
    span = await narrowed(pool, project, span, filters)
    verdicts, verdict_filters = 0, filters.replace(feedback_type=None)
    if filters.feedback_type in (None, "verdict") and is_rolled(verdict_filters):
        counted = await counted_votes(pool, votes(project, span, verdict_filters))
        verdicts = sum(row.votes.total for row in counted)
        if not filters.has_replies:
            return FoundCount(verdicts, True)
        filters = filters.replace(feedback_type="implicit")
    condition, values = where(project, span, filters)
    statement = SQL.count_found.filled(view=filters.list_view, where=condition)
    count = int(await pool.fetchval(*statement(**values, most=COUNTED + 1)))
    return FoundCount(verdicts + min(count, COUNTED), count <= COUNTED)
