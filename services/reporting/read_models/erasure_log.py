"""Handler that records erasure requests in the access log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.feedback import FeedbackErasureRequested
from reporting.read_models.handlers import ProjectionHandler
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received


class ErasureLogHandler(Handler, tombstones=True):
    """Handler that records erasure requests in the access log, after `inner` has erased the data."""

    def __init__(self, inner: Handler, projection: ProjectionHandler) -> None:
        self._inner = inner
        self._log = projection.access_log

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        outcomes = await self._inner.handle(batch)
        for received in batch:
            if self._log is not None and isinstance(received.event, FeedbackErasureRequested):
                await self._log.note_erasure(received.event)
        return outcomes
