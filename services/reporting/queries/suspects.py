"""Count of suspect verdicts. All other figures exclude them."""

from __future__ import annotations

from dataclasses import replace

import asyncpg

from reporting.queries.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL


async def suspect_count(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> int:
    """Return the number of suspect verdicts in a window that match the filters and would otherwise be effective."""
    condition, values = where(at, span, replace(filters, suspect=True))
    return int(await pool.fetchval(*SQL.count_suspects.filled(where=condition)(**values)))
