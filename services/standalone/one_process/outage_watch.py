"""Detection of a broker or database that stops responding during start-up or a batch run.

Without it, the services would wait forever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final, NamedTuple, Never, TypeVar

from agent_feedback_kit.deadlines import within
from servicekit.db.pools import wait_for_database
from servicekit.errors import StartError, shown
from servicekit.log.cluster import Bootstrap
from servicekit.log.topics import wait_for_broker
from standalone.terminal import DependencyLost

T = TypeVar("T")
PROBE_SECONDS: Final = 2.0
"""Interval between two probes, in seconds."""


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
    work: Coroutine[Any, Any, T], needed: Collection[Dependency], seconds: float, effect: str
) -> T:
    """Await `work` and return its result, while monitoring the servers in `needed`.

    Args:
        seconds: Longest time that a server may be unresponsive.
        effect: End of the error message, which says what the outage has prevented.

    Raises:
        DependencyLost: A server has not responded for `seconds`.
    """
    task = asyncio.create_task(work)
    watches = [asyncio.create_task(_watched(dependency, seconds, effect)) for dependency in needed]
    try:
        done, _ = await asyncio.wait({task, *watches}, return_when=asyncio.FIRST_COMPLETED)
        if task in done:
            return task.result()
        logging.disable()  # otherwise the services' shutdown errors would hide the reason
        return next(watch for watch in watches if watch in done).result()
    finally:
        task.cancel()
        for watch in watches:
            watch.cancel()


async def _watched(dependency: Dependency, seconds: float, effect: str) -> Never:
    """Probe a server until cancelled.

    Raises:
        DependencyLost: The server has not responded for `seconds`.
    """
    while True:
        try:
            await within(seconds, dependency.answers())
        except TimeoutError:
            raise DependencyLost(f"The {dependency.name} has not answered for {seconds:.0f} s: {effect}.") from None
        except StartError:
            pass  # it responds, even if it refuses the connection
        await asyncio.sleep(PROBE_SECONDS)
