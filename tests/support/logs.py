"""Records and a recording log, for tests of batch delivery."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import contracts
from contracts.headers import Headers
from contracts.instants import parse_instant
from servicekit.log.records import Coordinates, Message, RawRecord, Written

NOW = parse_instant("2026-06-01T12:00:00Z")
EXAMPLES = json.loads((Path(contracts.__file__).parent / "examples.json").read_text("utf-8"))


def example(topic: str, name: str, **changes: Any) -> bytes:
    """Return a golden message as bytes, with other values in some of its fields."""
    return json.dumps(EXAMPLES[topic][name] | changes).encode()


def raw(
    topic: str, value: bytes | None, offset: int = 0, partition: int = 0, headers: Headers = (), log_time: int = NOW
) -> RawRecord:
    return RawRecord(Coordinates(topic, partition, offset), b"key", value, headers, log_time)


class RecordingLog:
    """Producer that keeps the messages that it is given; `fails` are raised first, one per call."""

    def __init__(self, *fails: Exception) -> None:
        self.messages: list[Message] = []
        self.fails = list(fails)

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        if self.fails:
            raise self.fails.pop(0)
        first = len(self.messages)
        self.messages += messages
        return [Written(message.topic, 0, first + n) for n, message in enumerate(messages)]

    def values(self, topic: str) -> list[dict[str, Any]]:
        return [json.loads(message.value or b"null") for message in self.messages if message.topic == topic]
