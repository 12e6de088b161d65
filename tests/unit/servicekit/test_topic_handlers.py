"""A group whose topics have different handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.topics import CHAT_MESSAGE, REACTION_RECEIVED
from servicekit.log.handler import Handler, TopicHandlers
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received
from tests.support.logs import raw


class Labels(Handler):
    """Handler whose outcomes contain its name and the value of the record."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name, self._calls = name, calls

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        self._calls.append(self._name)
        return [Outcome.ignored(f"{self._name}{received.event}") for received in batch]

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        self._calls.append(f"{self._name} repairs {len(batch)}")


class OfTombstones(Labels, tombstones=True):
    """Handler that reads tombstones."""


def record(topic: str, event: Any) -> Received[Any]:
    return Received(event, raw(topic, b""))


async def test_each_record_reaches_the_handler_of_its_topic() -> None:
    calls: list[str] = []
    messages, reactions = Labels("m", calls), Labels("r", calls)
    both = TopicHandlers({messages: [CHAT_MESSAGE], reactions: [REACTION_RECEIVED]})
    batch = [record(REACTION_RECEIVED.name, 1), record(CHAT_MESSAGE.name, 2), record(REACTION_RECEIVED.name, 3)]
    assert [outcome.reason for outcome in await both.handle(batch)] == ["r1", "m2", "r3"]
    assert calls == ["m", "r"]
    await both.commit_lost(batch)
    assert calls[2:] == ["m repairs 1", "r repairs 2"]


async def test_a_handler_without_records_is_not_called() -> None:
    calls: list[str] = []
    both = TopicHandlers({Labels("m", calls): [CHAT_MESSAGE], Labels("r", calls): [REACTION_RECEIVED]})
    await both.handle([record(CHAT_MESSAGE.name, 1)])
    await both.commit_lost([record(CHAT_MESSAGE.name, 1)])
    assert calls == ["m", "m repairs 1"]


def test_tombstones_are_read_if_any_handler_reads_them() -> None:
    assert TopicHandlers({Labels("m", []): [CHAT_MESSAGE], OfTombstones("r", []): [REACTION_RECEIVED]}).takes_tombstones
    assert not TopicHandlers({Labels("m", []): [CHAT_MESSAGE]}).takes_tombstones
