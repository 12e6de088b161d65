"""Periodic work of a service."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from servicekit.clock import Clock
from servicekit.error_kinds import is_transient
from servicekit.logging import frames, logger

CANCEL_SECONDS = 2.0
"""Time within which cancelled tasks must end, in seconds."""
STUCK_SECONDS = 600.0
"""Seconds after which an unfinished run of periodic work becomes a warning to operators."""
log = logger("service")


@dataclass(frozen=True, slots=True)
class Periodic:
    """Work that runs every `seconds`, for the first time after `delay` seconds.

    After a failed run, the next one follows at the usual interval.
    """

    name: str
    seconds: float
    work: Callable[[], Awaitable[object]]
    delay: float = 0.0


class PeriodicTasks:
    """Periodic work of a service, each in its own task."""

    def __init__(self, clock: Clock) -> None:
        self.all: list[Periodic] = []
        self._clock = clock
        self._wakes: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._runs: dict[str, float] = {}
        """Start of each running task, in monotonic seconds by name."""
        self._tasks: list[asyncio.Task[None]] = []

    def wake(self, name: str) -> None:
        """Run the work `name` immediately. If it is running already, it runs again afterwards."""
        self._wakes[name].set()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self.run(periodic), name=periodic.name) for periodic in self.all]

    async def stop(self) -> None:
        """Cancel all tasks repeatedly until they have ended, but for no longer than CANCEL_SECONDS.

        A single cancellation may not suffice: in Python 3.11, `asyncio.wait_for` loses a cancellation if the awaited
        work ends at the same time.
        """
        loop_time = asyncio.get_running_loop().time
        deadline = loop_time() + CANCEL_SECONDS
        left: Collection[asyncio.Task[None]] = {task for task in self._tasks if not task.done()}
        while left and loop_time() < deadline:
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=CANCEL_SECONDS / 8)

    async def run(self, periodic: Periodic) -> None:
        """Run the work repeatedly, until the task is cancelled."""
        wake = self._wakes[periodic.name]
        await asyncio.sleep(periodic.delay)
        while True:
            wake.clear()
            self._runs[periodic.name] = self._clock.monotonic()
            try:
                await periodic.work()
            except Exception as error:
                level = log.warning if is_transient(error) else log.error
                level("periodic_failed", name=periodic.name, error=type(error).__name__, where=frames(error))
            finally:
                del self._runs[periodic.name]
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), periodic.seconds)

    def stuck(self) -> list[str]:
        """Return a sentence for each run that has not ended within STUCK_SECONDS."""
        now = self._clock.monotonic()
        return [
            f"the task {name!r} has been running for {int(now - start) // 60} minutes"
            for name, start in self._runs.items()
            if now - start >= STUCK_SECONDS
        ]
