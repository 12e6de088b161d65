"""Number of replies to answers: engagement, counted apart from verdicts and part of no share."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import asyncpg

from reporting.selection import Filters, Project, TimeSpan, where

_COUNT: Final = "select count(*) from live_replies e where {condition}"


async def reply_count(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> int:
    """Count the replies of a window; 0 if the filters select only verdicts."""
    if not filters.has_replies:
        return 0
    condition, values = where(at, span, replace(filters, feedback_type=None))
    return int(await pool.fetchval(_COUNT.format(condition=condition), *values))
