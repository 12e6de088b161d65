"""Retry schedule of deliveries. Pure."""

from __future__ import annotations

from typing import Final

from contracts.instants import SECOND

RETRY_DELAYS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Delays before the second and later attempts, in seconds; about three days in total."""
LONGEST_ASKED: Final = 3_600
"""Upper limit of a receiver's Retry-After, in seconds."""


def next_attempt(attempts: int, now: int, asked: int, jitter: float) -> int | None:
    """Return the time of the next attempt after `attempts` failures, in microseconds; None to stop retrying.

    `asked` is the receiver's Retry-After in seconds; 0 if there is none. `jitter`, 0 to 1, lengthens the delay by up to
    a fifth.
    """
    if attempts > len(RETRY_DELAYS):
        return None
    wait = RETRY_DELAYS[attempts - 1] * (1 + jitter / 5)
    return now + int(max(wait, min(asked, LONGEST_ASKED)) * SECOND)
