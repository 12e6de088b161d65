"""An event loop whose time is a number: a wait of an hour takes no time, and every run is the same."""

from __future__ import annotations

import asyncio
from typing import Any


class Stuck(Exception):
    """Everybody waits, and nothing will ever happen."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs what is ready, then jumps to the next moment at which something is due. No sockets, no threads."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck
        self._now += timeout
        return []

    def _process_events(self, events: list[Any]) -> None:
        return None

    def _write_to_self(self) -> None:
        return None
