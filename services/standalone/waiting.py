"""Waiting for a broker or database: until it responds, for a limited time, or while other work needs it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, Final, NamedTuple, TypeVar

from agent_feedback_kit import deadlines
from servicekit.db.pools import wait_for_database
from servicekit.error_kinds import in_words, is_transient
from servicekit.errors import StartError, shown
from servicekit.log.cluster import Bootstrap
from servicekit.log.topics import wait_for_broker

T = TypeVar("T")
PROBE_SECONDS: Final = 2.0
"""Interval between two probes, in seconds."""
_PROBES: Final = 4
"""Number of failed probes in a row after which a server counts as lost."""


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


class Dependency(NamedTuple):
    """A server that a run needs. `answers` waits until it responds."""

    name: str
    answers: Callable[[], Coroutine[Any, Any, None]]


def broker_at(bootstrap: Bootstrap) -> Dependency:
    """Return the broker at `bootstrap` as a dependency."""

    async def answers() -> None:
        admin = await wait_for_broker(bootstrap, lambda _: None)
        await admin.close()

    return Dependency(f"broker at {bootstrap}", answers)


def database_at(url: str) -> Dependency:
    """Return the database at `url` as a dependency."""
    return Dependency(f"database at {shown(url)}", lambda: wait_for_database(url, lambda _: None))


async def while_answered(
    work: Coroutine[Any, Any, T], needed: Collection[Dependency], seconds: float, error: type[Exception], effect: str
) -> T:
    """Await `work` and return its result, while monitoring the servers in `needed`.

    Without monitoring, work that waits for a server may wait forever.

    Args:
        seconds: Longest time that a server may be unresponsive.
        error: Type of the exception to raise if a server has not responded for `seconds`.
        effect: End of its message, which says what the outage has prevented.
    """
    if not needed:
        return await work
    task = asyncio.create_task(work)
    watches = [asyncio.create_task(_silent(dependency, seconds)) for dependency in needed]
    try:
        done, _ = await asyncio.wait({task, *watches}, return_when=asyncio.FIRST_COMPLETED)
        if task in done:
            return task.result()
        logging.disable()  # otherwise the services' shutdown errors would hide the reason
        lost = next(watch for watch in watches if watch in done).result()
        raise error(f"The {lost.name} has not answered for {seconds:.0f} s: {effect}.")
    finally:
        task.cancel()
        for watch in watches:
            watch.cancel()


async def _silent(dependency: Dependency, seconds: float) -> Dependency:
    """Probe a server, and return it when it has not responded for `seconds`.

    A probe fails if this process itself is busy, as while it loads the services. Several probes must fail in a row.
    """
    failures = 0
    while failures < _PROBES:
        try:
            await deadlines.within(seconds / _PROBES, dependency.answers())
        except TimeoutError:
            failures += 1
            continue
        except StartError:
            pass  # it responds, even if it refuses the connection
        failures = 0
        await asyncio.sleep(PROBE_SECONDS)
    return dependency
