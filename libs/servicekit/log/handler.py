"""Port between the log and a service: the batch handler. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from servicekit.log.outcome import Outcome
from servicekit.log.records import Unreadable


class Handler(ABC):
    """Base class of the handler of one consumer group.

    Its batches hold `Received` records. A subclass declared with `tombstones=True` gets `Tombstone` records as well:

        class RatingHandler(Handler, tombstones=True): ...
    """

    takes_tombstones: bool = False

    def __init_subclass__(cls, *, tombstones: bool | None = None) -> None:
        super().__init_subclass__()
        if tombstones is not None:
            cls.takes_tombstones = tombstones

    @abstractmethod
    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        """Process the whole batch and return the outcome of each record, in the same order.

        Must be idempotent: after any failure all or some of the same records may be delivered again.
        """

    async def commit_lost(self, batch: Sequence[Any]) -> None:  # noqa: B027 # most handlers have nothing to repair
        """Repair a batch after a rejected or late commit, because another consumer may have processed its records.

        By default, this does nothing, which suffices if handling the records again changes nothing.
        """

    async def note_set_aside(self, refused: Sequence[Unreadable]) -> None:  # noqa: B027 # most handlers do nothing here
        """Process records after their dead letters have been written. Must not raise. Does nothing by default."""
