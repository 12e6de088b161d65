"""Count of replies to answers. Replies measure engagement: they are not verdicts and affect no rate."""

from __future__ import annotations

from dataclasses import replace

import asyncpg

from reporting.queries.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL


async def reply_count(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> int:
    """Return the number of replies in a window; 0 if the filters select only verdicts."""
    if not filters.has_non_verdicts:
        return 0
    condition, values = where(at, span, replace(filters, feedback_type=None))
    return int(await pool.fetchval(*SQL.count_replies.filled(where=condition)(**values)))
