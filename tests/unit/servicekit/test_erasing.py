"""Erasures around a handler: stored before they are carried out, and repeated after a concurrent batch."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from contracts.erasure import ERASURE_MARGIN, ErasedAt, Erasure, Person, latest
from contracts.topics import consumed_by
from servicekit.erasure_guard import PersonErased, guard_values
from servicekit.log.erasing import ErasingHandler
from servicekit.log.outcome import ERASED, Outcome
from servicekit.log.records import Received, read
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
    return ErasingHandler(inner, ledger, log, "chat_bridge")


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
    erasing = ErasingHandler(inner, ledger, RecordingLog(), "chat_bridge", is_guarded=True)
    assert await erasing.handle([said(), said("bob")]) == [Outcome.STORED, Outcome.STORED]
    assert inner.attempts == [{EVE, Person("acme", "bob")}]


async def test_a_guarded_batch_with_an_erased_person_is_handled_with_the_ledger() -> None:
    ledger = Ledger()
    inner = Guarding(ledger)
    erasing = ErasingHandler(inner, ledger, RecordingLog(), "chat_bridge", is_guarded=True)
    assert await erasing.handle([said(), request(), said("bob")]) == [ERASED, Outcome.STORED, Outcome.STORED]
    assert inner.attempts == [{EVE, Person("acme", "bob")}, set()]
    assert [one.event.sender_id for one in inner.taken] == ["bob"]
