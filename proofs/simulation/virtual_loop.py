"""An event loop with virtual time: a wait of an hour takes no time, and every run is the same."""

from __future__ import annotations

import asyncio
from typing import Any


class Stuck(Exception):
    """Every task waits, and no event is scheduled."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Event loop that runs ready callbacks, then advances to the next scheduled one. No sockets, no threads."""

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
