"""Growing delays between the attempts of a batch."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_WAIT = 30.0
"""Maximum delay between two attempts of a batch, in seconds."""


class Interrupted(Exception):
    """Raised when the partitions are revoked or the service stops. The batch will be delivered again."""


@dataclass
class Backoff:
    """Growing delays between attempts.

    Setting `give_up` interrupts a delay, for example because the partitions are revoked or the service stops.
    """

    give_up: asyncio.Event = field(default_factory=asyncio.Event)
    pick: Callable[[float, float], float] = random.uniform

    async def wait(self, attempt: int) -> None:
        """Wait before the next attempt.

        The delay is random. Its maximum is 0.2 s after the first attempt and doubles with each further attempt, up to
        30 s.

        Args:
            attempt: The number of attempts so far.

        Raises:
            Interrupted: If the wait is interrupted.
        """
        await self.wait_seconds(min(LONGEST_WAIT, 0.2 * 2 ** min(attempt - 1, 10)) * self.pick(0.5, 1.0))

    async def wait_seconds(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.give_up.wait(), seconds)
        except TimeoutError:
            return
        raise Interrupted
