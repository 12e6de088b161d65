"""Number of replies to answers.

Replies measure engagement. They are not verdicts and affect no rate.
"""

from __future__ import annotations

import asyncpg

from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL


async def reply_count(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, most: int | None = None
) -> int:
    """Count the replies in a time window, up to `most`.

    Returns 0 if the filters select only verdicts.
    """
    if not filters.has_replies:
        return 0
    # All replies are people's. With a filter by origin, PostgreSQL may scan the table.
    condition, values = where(project, span, filters.replace(feedback_type=None, origins=None))
    return int(await pool.fetchval(*SQL.count_replies.filled(where=condition)(**values, most=most)))
