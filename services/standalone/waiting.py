"""Waiting for a broker or database that does not respond yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from agent_feedback_kit import deadlines
from servicekit.error_kinds import in_words, is_transient
from servicekit.errors import StartError

T = TypeVar("T")


async def within(seconds: float | None, work: Coroutine[Any, Any, T], address: str) -> T:
    """Await `work` and return its result.

    Args:
        seconds: Time limit, or None for no limit.
        address: Address to name in the error.

    Raises:
        StartError: The time limit was exceeded.
    """
    try:
        return await deadlines.within(seconds, work)
    except TimeoutError:
        raise StartError(f"Nothing answered at {address} within {seconds:.0f} s: is the address right?") from None


async def once_answered(read: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Call `read` until its server responds, and return the result.

    Only the first reason for waiting is printed. Errors that are not temporary are raised.
    """
    told = False
    while True:
        try:
            return await read()
        except Exception as error:
            if not is_transient(error):
                raise
            if not told:
                say(f"Waiting: {in_words(error)} ...")
            told = True
        await asyncio.sleep(1)
