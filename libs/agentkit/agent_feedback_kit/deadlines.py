"""Deadline that holds even if the awaited work does not end when it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")
_abandoned: set[asyncio.Future[Any]] = set()
"""References to abandoned, unfinished tasks, because asyncio may garbage-collect an unreferenced task."""


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Return the result of `work`. Raises its exceptions, or TimeoutError after `seconds` (None: no limit).

    Work that takes longer is cancelled and abandoned. `asyncio.wait_for` and `asyncio.timeout` wait until the cancelled
    work has ended, and a query on a stopped database ends only when the database continues.
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
