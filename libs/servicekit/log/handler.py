"""Handler interface: the boundary between the log and a service. No I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from servicekit.log.outcome import Outcome


class Handler(ABC):
    """Base class for the handler of a consumer group.

    A batch contains `Received` records. With `tombstones=True`, a subclass also gets the tombstones of feedback
    records, as `FeedbackErased` events:

        class RatingHandler(Handler, tombstones=True): ...
    """

    takes_tombstones: bool = False

    def __init_subclass__(cls, *, tombstones: bool | None = None) -> None:
        super().__init_subclass__()
        if tombstones is not None:
            cls.takes_tombstones = tombstones

    @abstractmethod
    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        """Process a batch and return the outcome of each record, in the same order.

        Implementations must be idempotent: after a failure, some or all of the records are delivered again.
        """

    async def commit_lost(self, batch: Sequence[Any]) -> None:  # noqa: B027 # most handlers have nothing to repair
        """Repair the effects of a batch whose commit was rejected or came too late.

        Another consumer may have processed the same records in the meantime. The default implementation does nothing,
        which is correct if handling the records again has no effect.
        """
