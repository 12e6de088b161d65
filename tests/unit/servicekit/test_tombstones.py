"""Records without a value: a tombstone on a compacted topic, a dead letter on any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contracts.topics import Consumer
from servicekit.clock import FixedClock
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Handler
from servicekit.log.outcome import Observation, Outcome
from servicekit.log.records import Coordinates, RawRecord, Received, Tombstone, as_tombstone
from tests.support.logs import NOW, RecordingLog, example, raw


class Plain(Handler):
    def __init__(self) -> None:
        self.taken: list[Any] = []

    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        self.taken += batch
        return [Outcome.STORED] * len(batch)

    async def commit_lost(self, batch: Sequence[Any]) -> None:
        self.taken += batch


class Forgetting(Plain, tombstones=True):
    """Handler of tombstones."""


async def deliver(
    handler: Plain, *records: RawRecord, accepted: bool = True, group: Consumer = "reporting"
) -> list[Outcome]:
    seen: list[Observation] = []
    delivery = Delivery(group, handler, RecordingLog(), clock=FixedClock(NOW), observers=[seen.append])

    async def commit(_: Sequence[RawRecord]) -> bool:
        return accepted

    await delivery.deliver(records, commit)
    return [observation.outcome for observation in seen]


@pytest.mark.parametrize("topic", ["feedback.created", "feedback.erasure.requested"])
def test_a_key_without_a_value_on_a_compacted_topic_is_a_tombstone(topic: str) -> None:
    record = raw(topic, None)
    assert as_tombstone(record) == Tombstone("key", record)
    assert Tombstone("key", record).topic == topic


@pytest.mark.parametrize(
    "record",
    [
        raw("chat.message.ingested", None),
        raw("no.such.topic", None),
        raw("feedback.created", b""),
        RawRecord(Coordinates("feedback.created", 0, 0), None, None, (), NOW),
    ],
    ids=["not compacted", "unknown", "empty value", "no key"],
)
def test_anything_else_is_none(record: RawRecord) -> None:
    assert as_tombstone(record) is None


async def test_a_handler_that_takes_tombstones_gets_them_in_the_order_of_the_log() -> None:
    handler = Forgetting()
    event = raw("feedback.created", example("feedback.created", "created"), 1)
    outcomes = await deliver(handler, raw("feedback.created", None, 0), event, raw("feedback.created", None, 2))
    assert outcomes == [Outcome.STORED] * 3
    assert [type(one) for one in handler.taken] == [Tombstone, Received, Tombstone]
    assert [one.raw.coordinates.offset for one in handler.taken] == [0, 1, 2]


async def test_a_handler_that_does_not_take_them_is_spared() -> None:
    handler = Plain()
    event = raw("feedback.created", example("feedback.created", "created"), 1)
    outcomes = await deliver(handler, raw("feedback.created", None, 0), event, accepted=False)
    assert outcomes == [Outcome.ignored("tombstone"), Outcome.STORED]
    assert [type(one) for one in handler.taken] == [Received, Received]


async def test_a_missing_value_elsewhere_is_still_a_dead_letter() -> None:
    record = raw("chat.message.ingested", None)
    assert await deliver(Forgetting(), record, group="chat_bridge") == [Outcome.dead_lettered("empty")]


def test_a_misspelled_declaration_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match="tombstone"):
        type("Misspelled", (Plain,), {}, tombstone=True)
