"""Handler of a consumer group whose topics have different handlers. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from contracts.topics import Topic
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received


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
            if indexes:
                handled = await handler.handle([batch[index] for index in indexes])
                outcomes |= zip(indexes, handled, strict=True)
        return [outcomes[index] for index in range(len(batch))]

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        for handler, names in self._names_of.items():
            if own := [received for received in batch if received.topic in names]:
                await handler.commit_lost(own)
