"""Handler interface: the boundary between the log and a service. No I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from contracts.topics import Topic
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received


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


async def handle_at(indexes: Sequence[int], batch: Sequence[Any], handler: Handler) -> dict[int, Outcome]:
    """Pass the records at `indexes` of a batch to `handler`, and return their outcomes by index."""
    if not indexes:
        return {}
    outcomes = await handler.handle([batch[index] for index in indexes])
    return dict(zip(indexes, outcomes, strict=True))


class TopicHandlers(Handler):
    """Handler that passes each record of a batch to the handler of its topic.

    The handlers run one after another, in the order of `topics_of`. The order of records is kept only within a handler.

    Args:
        topics_of: The topics of each handler.
    """

    def __init__(self, topics_of: Mapping[Handler, Collection[Topic]]) -> None:
        self._names_of = {handler: {topic.name for topic in topics} for handler, topics in topics_of.items()}
        self.takes_tombstones = any(handler.takes_tombstones for handler in topics_of)

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        outcomes: dict[int, Outcome] = {}
        for handler, names in self._names_of.items():
            indexes = [index for index, received in enumerate(batch) if received.topic in names]
            outcomes |= await handle_at(indexes, batch, handler)
        return [outcomes[index] for index in range(len(batch))]

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        for handler, names in self._names_of.items():
            if own := [received for received in batch if received.topic in names]:
                await handler.commit_lost(own)
