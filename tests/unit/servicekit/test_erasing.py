"""Erasures around a handler: stored before they are carried out, and repeated after a concurrent batch."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any
from uuid import UUID

import pytest

from contracts.erasure import ERASURE_MARGIN, ErasedAt, Erasure, Person, latest
from contracts.feedback import FeedbackCreated, FeedbackErased
from contracts.headers import REVISION, Headers
from contracts.topics import COMPACTED, Consumer, consumed_by
from servicekit.errors import StartError
from servicekit.log.delivery import Delivery
from servicekit.log.handler import ErasingHandler, Handler, PersonErased, guard_values
from servicekit.log.outcome import ERASED, Observation, Outcome
from servicekit.log.records import Coordinates, RawRecord, Received, is_tombstone, read, read_tombstone
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from servicekit.settings import read_settings
from tests.support.hand_clock import FixedClock
from tests.support.logs import NOW, RecordingLog, example, raw
from tests.support.unit_handlers import NoWork

MESSAGE, REQUEST = "chat.message.ingested", "feedback.erasure.requested"


EVE = Person("acme", "eve")


_MODELS = {topic.name: topic.event for topic in consumed_by("chat_bridge")}


class Ledger:
    """Erasures in memory; `erased` lists the erased people of each call."""

    def __init__(self) -> None:
        self.entries: dict[Person, Erasure] = {}
        self.erased: list[set[Person]] = []

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        newest = latest([*self.entries.values(), *erasures])
        changed = {person for person, one in newest.items() if self.entries.get(person) != one}
        self.entries = newest
        return changed

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        return {person: self.entries[person].erased_at for person in people if person in self.entries}

    async def erase(self, erased: ErasedAt) -> int:
        assert erased.keys() <= self.entries.keys(), "the ledger comes first"
        self.erased.append(set(erased))
        return 7


class Taking(NoWork):
    """Handler that accepts everything and runs a callback meanwhile."""

    def __init__(self, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
        self.taken: list[Any] = []
        self._meanwhile = meanwhile

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        self.taken += batch
        if self._meanwhile is not None:
            await self._meanwhile()
        return [Outcome.STORED] * len(batch)


def received(topic: str, name: str, **changes: Any) -> Received[Any]:
    one = read(raw(topic, example(topic, name, **changes)), _MODELS)
    assert isinstance(one, Received)
    return one


def said(user: str = "eve", at: str = "2026-03-01T09:30:00Z", **changes: Any) -> Received[Any]:
    return received(MESSAGE, "least", senderId=user, occurredAt=at, **changes)


def request(user: str = "eve", **changes: Any) -> Received[Any]:
    return received(REQUEST, "erasure", userId=user, **changes)


def handler(inner: Taking, ledger: Ledger, log: RecordingLog) -> ErasingHandler:
    return ErasingHandler(inner, ledger, ledger.erase, log, "chat_bridge")


async def test_a_request_is_carried_out_confirmed_and_never_reaches_the_handler() -> None:
    inner, ledger, log = Taking(), Ledger(), RecordingLog()
    erasing = handler(inner, ledger, log)
    assert await erasing.handle([request()]) == [Outcome.STORED]
    assert await erasing.handle([request()]) == [Outcome.UNCHANGED]
    assert inner.taken == []
    assert ledger.erased == [{EVE}, {EVE}], "a repeated request is carried out again: the first may have ended half way"
    first, second = (json.loads(message.value or b"") for message in log.messages)
    assert first == second
    assert (first["service"], first["requestId"], first["userId"], first["removed"]) == (
        "chat_bridge",
        "request-1",
        "eve",
        7,
    )


async def test_what_an_erasure_covers_is_left_out_whatever_comes_first_in_the_batch() -> None:
    inner, ledger = Taking(), Ledger()
    batch = [said(), request(), said("bob")]
    assert await handler(inner, ledger, RecordingLog()).handle(batch) == [ERASED, Outcome.STORED, Outcome.STORED]
    assert [one.event.sender_id for one in inner.taken] == ["bob"]


async def test_what_is_said_after_the_margin_is_taken_in() -> None:
    inner, ledger = Taking(), Ledger()
    await ledger.note([Erasure(EVE, "q", said().event.occurred_at - ERASURE_MARGIN)])
    covered, later = said(), said(at="2026-03-01T09:30:00.000001Z")
    assert await handler(inner, ledger, RecordingLog()).handle([covered, later]) == [ERASED, Outcome.STORED]


async def test_an_erasure_during_the_batch_is_carried_out_after_it() -> None:
    ledger = Ledger()
    inner = Taking(lambda: ledger.note([Erasure(EVE, "q", NOW)]))
    assert await handler(inner, ledger, RecordingLog()).handle([said(), said("bob")]) == [
        Outcome.STORED,
        Outcome.STORED,
    ]
    assert ledger.erased == [{EVE}]


async def test_what_agents_say_has_no_person_behind_it() -> None:
    inner, ledger = Taking(), Ledger()
    await ledger.note([Erasure(Person("acme", "bot"), "q", NOW)])
    agents = received(MESSAGE, "least", senderId="bot", senderType="agent", agentId="bot")
    assert await handler(inner, ledger, RecordingLog()).handle([agents]) == [Outcome.STORED]


class Guarding(Taking):
    """Handler whose writes fail if one of the guarded people is in the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger
        self.attempts: list[set[Person]] = []

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        values = guard_values()
        people = {*map(Person, values["guarded_tenant"], values["guarded_user"])}
        self.attempts.append(people)
        if people & self._ledger.entries.keys():
            raise PersonErased
        return await super().handle(batch)


async def test_a_guarded_batch_without_erased_people_reads_no_ledger() -> None:
    ledger = Ledger()
    ledger.erased_at = None  # type: ignore[method-assign,assignment]
    inner = Guarding(ledger)
    erasing = ErasingHandler(inner, ledger, ledger.erase, RecordingLog(), "chat_bridge", is_guarded=True)
    assert await erasing.handle([said(), said("bob")]) == [Outcome.STORED, Outcome.STORED]
    assert inner.attempts == [{EVE, Person("acme", "bob")}]


async def test_a_guarded_batch_with_an_erased_person_is_handled_with_the_ledger() -> None:
    ledger = Ledger()
    inner = Guarding(ledger)
    erasing = ErasingHandler(inner, ledger, ledger.erase, RecordingLog(), "chat_bridge", is_guarded=True)
    assert await erasing.handle([said(), request(), said("bob")]) == [ERASED, Outcome.STORED, Outcome.STORED]
    assert inner.attempts == [{EVE, Person("acme", "bob")}, set()]
    assert [one.event.sender_id for one in inner.taken] == ["bob"]


# Records without a value: a tombstone on a compacted topic, a dead letter on any other.


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


# Pseudonyms of erased people: off by default, and dependent on a key.

EVE_HASHED = Person("acme", "eve@example.org")


KEY = "sixteen letters!"


def name_of(person: Person, **settings: object) -> str:
    return Pseudonyms(read_settings(ErasureSettings, **settings))(person)


def test_ids_are_kept_unless_pseudonyms_are_asked_for() -> None:
    assert name_of(EVE_HASHED) == EVE_HASHED.user_id
    assert name_of(EVE_HASHED, ids_of={"globex": "pseudonym"}, key=KEY) == EVE_HASHED.user_id
    assert name_of(EVE_HASHED, ids="pseudonym", ids_of={"acme": "keep"}, key=KEY) == EVE_HASHED.user_id


def test_a_pseudonym_depends_on_the_key_the_tenant_and_the_person() -> None:
    named = [
        name_of(EVE_HASHED, ids="pseudonym", key=KEY),
        name_of(EVE_HASHED, ids="pseudonym", key=KEY + "?"),
        name_of(Person("globex", EVE_HASHED.user_id), ids="pseudonym", key=KEY),
        name_of(Person("acme", "eve"), ids="pseudonym", key=KEY),
    ]
    assert len({*named}) == len(named)
    assert all(name.startswith("erased-") and len(name) == 39 and "eve" not in name for name in named)
    assert name_of(EVE_HASHED, ids_of={"acme": "pseudonym"}, key=KEY) == named[0]


@pytest.mark.parametrize("settings", [{"ids": "pseudonym"}, {"ids_of": {"acme": "pseudonym"}, "key": KEY[1:]}])
def test_pseudonyms_need_a_key(settings: dict[str, object]) -> None:
    with pytest.raises(StartError, match="ERASURE_KEY must have at least 16 characters"):
        read_settings(ErasureSettings, **settings)
