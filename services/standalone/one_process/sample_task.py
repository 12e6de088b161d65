"""Background task that loads the sample conversations while a run is serving."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable


class SampleTask:
    """Task that calls `load` in the background and reports a failure through `say`.

    After a failure, the task can be started again.
    """

    def __init__(self, load: Callable[[], Awaitable[None]], say: Callable[[str], None]) -> None:
        self._load = load
        self._say = say
        self._task: asyncio.Task[None] | None = None
        self._loaded = False

    @property
    def is_loading(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        if not self._loaded and not self.is_loading:
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Cancel the task and wait until it has ended."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        self._say("Loading the sample ...")
        try:
            await self._load()
        except Exception as error:
            self._say(f"The sample could not be loaded ({type(error).__name__}): press the button again.")
            return
        self._loaded = True
        self._say("The sample is loaded.")
