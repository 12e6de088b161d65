"""Number of suspect verdicts, which all other figures exclude."""

from __future__ import annotations

from dataclasses import replace

import asyncpg

from reporting.queries.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL


async def suspect_count(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> int:
    """Count the suspect verdicts in a time window that match the filters.

    Only verdicts that would otherwise be effective are counted.
    """
    condition, values = where(at, span, replace(filters, suspect=True))
    return int(await pool.fetchval(*SQL.count_suspects.filled(where=condition)(**values)))
