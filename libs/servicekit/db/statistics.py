"""Statistics of tables that PostgreSQL has not analysed yet, in a service's own schema.

Without statistics, several indexes of a table look equally good to the planner, and a prepared statement keeps the plan
that it gets for an almost empty table. By default, autovacuum analyses a table only a minute after it has been filled.
An analysis makes PostgreSQL plan all statements on the table again.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from servicekit.db.sql import SQL

CHECK_SECONDS: Final = 5.0
LEAST_BYTES: Final = 262_144
"""Minimum size of a table that is analysed. In smaller tables, a bad plan costs little."""


async def analyse_unanalysed(pool: asyncpg.Pool) -> list[str]:
    """Analyse the tables that have no statistics yet, and return their names.

    Tables that another process analyses at the same time are skipped.
    """
    names = [row["name"] for row in await pool.fetch(*SQL.unanalysed_tables(least_bytes=LEAST_BYTES))]
    for name in names:
        await pool.execute(f"analyze (skip_locked) {name}")  # quoted by the query
    return names
