"""Start-up of a run's services, which waits and retries during an outage of the database or the broker."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

from standalone.one_process.stack import Stack
from standalone.waiting import once_answered

SILENT_SECONDS: Final = 5.0
"""Time in seconds after which the user is told why the services are not ready."""


async def start_stack(make: Callable[[], Stack], say: Callable[[str], None]) -> Stack:
    """Start a stack created by `make`, and return it when it is ready.

    If the database or the broker fails meanwhile, the stack is stopped and another one is started. All other errors are
    raised.
    """

    async def attempt() -> Stack:
        stack = make()
        try:
            await stack.start()
            await _ready(stack, say)
        except BaseException:
            await stack.stop()
            raise
        return stack

    return await once_answered(attempt, say)


async def _ready(stack: Stack, say: Callable[[str], None]) -> None:
    told = time.monotonic() + SILENT_SECONDS
    while why := await stack.not_ready():
        if time.monotonic() > told:
            say(f"Waiting: {why} ...")
            told = math.inf
        await asyncio.sleep(0.02)


def each_once(say: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap `say` so that it prints each line only once, because several services may wait for the same database."""
    printed: set[str] = set()

    def tell(message: str) -> None:
        if message not in printed:
            printed.add(message)
            say(message)

    return tell
