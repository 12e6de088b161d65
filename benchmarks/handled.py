"""Consumer records for handlers without a log, and a producer that collects published messages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from typing import Any

from contracts.topics import BY_NAME
from servicekit.log.messages import Message, Written
from servicekit.log.records import Coordinates, RawRecord, Received, read

MODELS = {topic.name: topic.event for topic in BY_NAME.values()}
_OFFSETS = count()


class Collected:
    """Producer that stores the messages in memory."""

    def __init__(self) -> None:
        self.sent: list[Message] = []

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self.sent += messages
        return [Written(message.topic, 0, next(_OFFSETS)) for message in messages]


def received(message: Message) -> Received[Any]:
    """Return the message as a consumer would receive it."""
    raw = RawRecord(
        Coordinates(message.topic, 0, next(_OFFSETS)),
        (message.key or "").encode(),
        message.value,
        tuple(message.headers),
        time.time_ns() // 1_000,
        log_timed=True,
    )
    found = read(raw, MODELS)
    assert isinstance(found, Received), found
    return found
