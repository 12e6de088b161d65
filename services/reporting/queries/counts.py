"""SQL columns that count effective reactions: total = user + machine + reviewer = ok + not_ok + neutral."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

NAMES: Final = ("total", "user", "machine", "reviewer", "ok", "not_ok", "neutral")

COUNTS: Final = """
count(*) as total,
count(*) filter (where e.origin = 'user') as "user",
count(*) filter (where e.origin = 'machine') as machine,
count(*) filter (where e.origin = 'reviewer') as reviewer,
count(*) filter (where e.reaction = 'ok') as ok,
count(*) filter (where e.reaction = 'not_ok') as not_ok,
count(*) filter (where e.reaction = 'neutral') as neutral
"""
"""Columns for a select from effective reactions `e`."""
SUMS: Final = """
coalesce(sum(e.ok), 0) as ok, coalesce(sum(e.neutral), 0) as neutral, coalesce(sum(e.not_ok), 0) as not_ok,
coalesce(sum(e.ok + e.neutral + e.not_ok) filter (where e.origin = 'user'), 0) as "user",
coalesce(sum(e.ok + e.neutral + e.not_ok) filter (where e.origin = 'machine'), 0) as machine,
coalesce(sum(e.ok + e.neutral + e.not_ok) filter (where e.origin = 'reviewer'), 0) as reviewer,
coalesce(sum(e.ok + e.neutral + e.not_ok), 0) as total
"""
"""The same columns for a select from a `rolled.Source` as `e`."""


def counts_of(row: asyncpg.Record | dict[str, Any]) -> dict[str, int]:
    return {name: int(row[name]) for name in NAMES}


async def totals(pool: asyncpg.Pool) -> dict[str, int]:
    """Count the effective reactions of all tenants, and the conversations that have one."""
    (row,) = await pool.fetch(
        f"""
        with conversations as (
            select {COUNTS} from effective e group by e.tenant, e.project, e.conversation_id
        )
        select count(*) as conversations, {", ".join(f'coalesce(sum("{name}"), 0) as "{name}"' for name in NAMES)}
        from conversations
        """
    )
    return {"conversations": int(row["conversations"]), **counts_of(row)}
