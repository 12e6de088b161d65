"""The port between the log and a service: a handler of batches. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from servicekit.log.outcome import Outcome
from servicekit.log.records import Received


class Handler(Protocol):
    """Handler of one consumer group. With the attribute `takes_tombstones = True` it gets `Tombstone`s as well.

    An optional coroutine `note_set_aside` gets records after their dead letters are written. It must not raise.
    """

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        """Process the whole batch and return the outcome of each record, in the same order.

        Must be idempotent: after any failure all or some of the same records may be delivered again.
        """
        ...

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        """Repair a batch whose commit was refused or late: another consumer may have processed the same records."""
        ...

    async def probe(self) -> None:
        """Raise if the handler's database does not answer."""
        ...
