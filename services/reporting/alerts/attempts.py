"""Rate limit by counted attempts.

The counts are stored in the database, so all processes share them.
"""

from __future__ import annotations

import asyncpg

from reporting.sql import SQL


async def seconds_to_wait(pool: asyncpg.Pool, subject: bytes, most: int, window: int, now: int) -> int:
    """Count an attempt and return the number of seconds to wait, or 0 if it is allowed.

    Args:
        subject: Key under which attempts are counted.
        most: Number of attempts allowed per time window.
        window: Length of the time window in microseconds.
        now: The current time in microseconds.
    """
    [row] = await pool.fetch(*SQL.count_attempt(subject=subject, now=now, oldest=now - window))
    return 0 if row["failures"] <= most else max(1, (row["since"] + window - now) // 1_000_000 + 1)
