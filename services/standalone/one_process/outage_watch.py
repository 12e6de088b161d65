"""Detection of a broker or database that stops responding during start-up or a batch run.

Without it, the services would wait forever.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Never, TypeVar

import asyncpg
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from servicekit.errors import shown
from servicekit.log.cluster import Bootstrap, client_options
from standalone.terminal import DependencyLost

T = TypeVar("T")
PROBE_SECONDS: Final = 2.0
"""Interval between two probes, and timeout of a probe, in seconds."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A server that a run needs. `answers` returns False if it does not respond within PROBE_SECONDS."""

    name: str
    answers: Callable[[], Awaitable[bool]]


def broker_at(bootstrap: Bootstrap) -> Dependency:
    """Return the broker at `bootstrap` as a dependency."""
    return Dependency(f"broker at {bootstrap}", partial(_broker_answers, bootstrap))


def database_at(url: str) -> Dependency:
    """Return the database at `url` as a dependency."""
    return Dependency(f"database at {shown(url)}", partial(_database_answers, url))


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
    answered = time.monotonic()
    while True:
        if await dependency.answers():
            answered = time.monotonic()
        elif time.monotonic() - answered >= seconds:
            raise DependencyLost(f"The {dependency.name} has not answered for {seconds:.0f} s: {effect}.")
        await asyncio.sleep(PROBE_SECONDS)


async def _broker_answers(bootstrap: Bootstrap) -> bool:
    """Return True if the broker responds to a metadata request."""
    admin = AIOKafkaAdminClient(**client_options(bootstrap), request_timeout_ms=int(PROBE_SECONDS * 1000))
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await admin.start()
            return True
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await admin.close()


async def _database_answers(url: str) -> bool:
    """Return True if the database responds, even by rejecting the connection.

    A database that is starting or stopping does not count as responding.
    """
    try:
        connection = await asyncpg.connect(url, timeout=PROBE_SECONDS)
    except (asyncpg.OperatorInterventionError, asyncpg.PostgresConnectionError):
        return False
    except asyncpg.PostgresError:
        return True
    except (asyncpg.InterfaceError, OSError, TimeoutError):
        return False
    connection.terminate()
    return True
