"""Wait for work with a deadline, even if the work does not respond to cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")
_abandoned: set[asyncio.Future[Any]] = set()
"""References to abandoned, unfinished tasks, because asyncio may garbage-collect an unreferenced task."""


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Wait for `work` for at most `seconds` (None for no limit) and return its result.

    Work that takes longer is cancelled and abandoned. By contrast, `asyncio.wait_for` and `asyncio.timeout` wait until
    the cancelled work has ended. This may take very long: a query on a suspended database only ends when the database
    resumes.

    Raises:
        TimeoutError: The work has not finished in time. Exceptions of the work itself are raised unchanged.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _abandoned.add(task)
            task.add_done_callback(_forget)
    if not task.done():
        raise TimeoutError
    return task.result()


def _forget(task: asyncio.Future[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # otherwise asyncio reports the exception as never retrieved
