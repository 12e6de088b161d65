"""Records without a value: a tombstone on a compacted topic, a dead letter on any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from contracts.feedback import FeedbackCreated, FeedbackErased
from contracts.headers import REVISION, Headers
from contracts.topics import COMPACTED, Consumer
from servicekit.clock import FixedClock
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Handler
from servicekit.log.outcome import Observation, Outcome
from servicekit.log.records import Coordinates, RawRecord, Received, is_tombstone, read_tombstone
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


ID = UUID(int=1)


def tombstone(offset: int = 0, key: bytes = str(ID).encode(), headers: Headers = ()) -> RawRecord:
    return RawRecord(Coordinates("feedback.created", 0, offset), key, None, headers, 2_999)


@pytest.mark.parametrize("topic", ["feedback.created", "feedback.erasure.requested"])
def test_a_key_without_a_value_on_a_compacted_topic_is_a_tombstone(topic: str) -> None:
    assert is_tombstone(raw(topic, None))


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
    assert not is_tombstone(record)


@pytest.mark.parametrize(
    ("named", "revision"),
    [(b"8", 8), (b"9" * 18, 10**18 - 1), (b"9" * 19, 2), (b"9" * 5_000, 2), (b"-1", 2), (b"x", 2), (None, 2)],
)
def test_a_tombstone_ends_the_revision_that_it_names_or_what_was_said_before_it(
    named: bytes | None, revision: int
) -> None:
    """A revision out of range would not fit the column, and the tombstone would be lost."""
    record = tombstone(headers=() if named is None else ((REVISION, named),))
    assert read_tombstone(record) == Received(FeedbackErased(ID, revision), record)


@pytest.mark.parametrize("topic", sorted(COMPACTED - {"feedback.created"}))
def test_a_tombstone_of_another_topic_erases_no_feedback(topic: str) -> None:
    """Its key may be a UUID, too."""
    record = tombstone()
    record = record._replace(coordinates=record.coordinates._replace(topic=topic))
    assert is_tombstone(record)
    assert read_tombstone(record) is None


@pytest.mark.parametrize("accepted", [True, False])
async def test_a_handler_that_takes_tombstones_gets_them_in_the_order_of_the_log(accepted: bool) -> None:
    handler = Forgetting()
    event = raw("feedback.created", example("feedback.created", "created"), 1)
    outcomes = await deliver(handler, tombstone(0), event, tombstone(2), accepted=accepted)
    assert outcomes == [Outcome.STORED] * 3
    lost = [] if accepted else handler.taken[:3]
    assert [type(one.event) for one in handler.taken[:3]] == [FeedbackErased, FeedbackCreated, FeedbackErased]
    assert [one.raw.coordinates.offset for one in handler.taken[:3]] == [0, 1, 2]
    assert handler.taken[3:] == lost


@pytest.mark.parametrize(
    "record", [raw("feedback.erasure.requested", None), tombstone(key=b"no id")], ids=["a request", "a foreign key"]
)
async def test_a_tombstone_of_no_feedback_record_is_ignored(record: RawRecord) -> None:
    handler = Forgetting()
    assert await deliver(handler, record) == [Outcome.ignored("tombstone")]
    assert handler.taken == []


async def test_a_handler_that_does_not_take_them_is_spared() -> None:
    handler = Plain()
    event = raw("feedback.created", example("feedback.created", "created"), 1)
    outcomes = await deliver(handler, tombstone(), event, accepted=False)
    assert outcomes == [Outcome.ignored("tombstone"), Outcome.STORED]
    assert [type(one) for one in handler.taken] == [Received, Received]


async def test_a_missing_value_elsewhere_is_still_a_dead_letter() -> None:
    record = raw("chat.message.ingested", None)
    assert await deliver(Forgetting(), record, group="chat_bridge") == [Outcome.dead_lettered("empty")]


def test_a_misspelled_declaration_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match="tombstone"):
        type("Misspelled", (Plain,), {}, tombstone=True)
