"""Counts of effective reactions: total = user + machine + reviewer = ok + not_ok + neutral."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

from reporting.sql import SQL

NAMES: Final = ("total", "user", "machine", "reviewer", "ok", "not_ok", "neutral")


def counts_of(row: asyncpg.Record | dict[str, Any]) -> dict[str, int]:
    return {name: int(row[name]) for name in NAMES}


async def totals(pool: asyncpg.Pool) -> dict[str, int]:
    """Count the effective reactions of all tenants, and the conversations that have any."""
    (row,) = await pool.fetch(*SQL.count_all())
    return {"conversations": int(row["conversations"]), **counts_of(row)}
