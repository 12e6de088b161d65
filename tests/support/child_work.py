"""Functions for a child process (`servicekit/child_process.py`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path


def open_failing(_pool: object, _clock: object) -> Callable[..., Awaitable[int]]:
    async def run() -> int:
        raise KeyError("secret text")

    return run


def open_endless(_pool: object, _clock: object, started: str) -> Callable[..., Awaitable[int]]:
    """Return a function that computes in a thread without end. It creates the file `started` first."""

    def compute() -> int:
        Path(started).touch()
        threading.Event().wait()
        return 0

    async def run() -> int:
        return await asyncio.to_thread(compute)

    return run
