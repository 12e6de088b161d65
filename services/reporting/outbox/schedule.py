"""Retry schedule for deliveries. No I/O."""

from __future__ import annotations

from typing import Final

from contracts.instants import SECOND

RETRY_DELAYS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Delays before each retry in seconds. They add up to about three days."""
LONGEST_ASKED: Final = 3_600
"""Maximum Retry-After of a receiver that is respected, in seconds."""


def next_attempt(attempts: int, now: int, retry_after: int, jitter: float) -> int | None:
    """Return the time of the next attempt in microseconds, or None if there were too many failed attempts.

    Args:
        attempts: Number of failed attempts.
        now: The current time in microseconds.
        retry_after: The receiver's Retry-After in seconds, or 0 if there is none.
        jitter: Random number from 0 to 1 that lengthens the delay by up to a fifth.
    """
    if attempts > len(RETRY_DELAYS):
        return None
    wait = RETRY_DELAYS[attempts - 1] * (1 + jitter / 5)
    return now + int(max(wait, min(retry_after, LONGEST_ASKED)) * SECOND)
