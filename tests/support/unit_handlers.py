"""A handler for tests without delivery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received


class NoWork(Handler):
    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        raise AssertionError("nothing should come")

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        raise AssertionError("nothing should come")
