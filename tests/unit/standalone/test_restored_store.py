"""Revisions of a restored store, and the offsets from which its services read again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import ConsumerRecord, TopicPartition

from contracts.erasure import Person
from contracts.feedback import FeedbackExplicitReceived
from contracts.headers import REVISION, Headers
from contracts.topics import FEEDBACK_CREATED
from feedback.model import Change, LedgerEntries, Record, merge, revise
from feedback.reward import change_of
from feedback.store import NOBODY, Save, Saved
from feedback.writer import message_of
from servicekit.errors import StartError
from standalone.operations import restored_store, rewind
from standalone.operations.ledger import Ledger
from standalone.operations.restored_store import revision_above
from standalone.operations.rewind import earlier
from tests.support.feedback_memory import MemoryStore


def record(revision: int, reaction: str = "ok") -> Record:
    event = FeedbackExplicitReceived.model_validate(
        {
            "event_id": reaction,
            "occurred_at": 1,
            "tenant": "acme",
            "project": "p",
            "conversation_id": "c",
            "turn_id": "t",
            "agent_id": "bot",
            "user_id": "ann",
            "reaction": reaction,
        }
    )
    change = change_of(event)
    assert isinstance(change, Change)
    return revise(merge(None, change), revision * 1_000)


def ledger_with(*announced: Record | int) -> Ledger:
    """Return the ledger after announcements of records; a number is a tombstone of that revision."""
    return announced_to(Ledger(), *announced)


def announced_to(ledger: Ledger, *announced: Record | int) -> Ledger:
    key = str(record(1).feedback_id).encode()
    for offset, one in enumerate(announced):
        headers: Headers = [(REVISION, str(one).encode())] if isinstance(one, int) else ()
        value = None if isinstance(one, int) else message_of(one).value
        ledger.take(ConsumerRecord(FEEDBACK_CREATED.name, 0, offset, 0, 1, key, value, None, 0, 0, tuple(headers)))
    return ledger


@pytest.mark.parametrize(
    ("announced", "stored", "revision"),
    [
        ([record(5)], record(5), 5),
        ([record(5)], record(8), 8),
        ([], record(5), 5),
        ([record(7)], record(5), 8),
        ([record(5, "not_ok")], record(5), 6),
        ([record(5), 9], record(5), 10),
        ([record(5), 9], record(12), 12),
    ],
    ids=[
        "the same",
        "newer",
        "never announced",
        "older",
        "other content",
        "below the tombstone",
        "above the tombstone",
    ],
)
def test_a_state_is_raised_above_what_consumers_have(
    announced: list[Record | int], stored: Record, revision: int
) -> None:
    assert revision_above(ledger_with(*announced), stored) == revision


def test_a_record_that_no_announcement_represents_is_left_to_republish() -> None:
    broken = record(5)
    slots = {slot: replace(one, payload=replace(one.payload, value=7.0)) for slot, one in broken.slots.items()}
    assert revision_above(ledger_with(record(9)), replace(broken, slots=slots)) == 5


class ContestedStore(MemoryStore):
    """Store in which a service writes `other` right before the first save."""

    def __init__(self, held: Record, other: Record | None) -> None:
        super().__init__()
        self._held, self._other = held, other

    async def save(
        self, saves: Sequence[Save], people: Collection[Person] = (), ledger: LedgerEntries = NOBODY
    ) -> Saved:
        other, self._other = self._other, None
        if other is not None:
            await super().save([Save(other, self._held.revision)])
        return await super().save(saves, people, ledger)


@pytest.mark.parametrize(("other", "raised"), [(None, 1), (record(6), 1), (record(9), 0)])
async def test_a_store_is_raised_above_the_ledger_while_services_write(
    monkeypatch: pytest.MonkeyPatch, other: Record | None, raised: int
) -> None:
    async def read_on(bootstrap: object, ledger: Ledger) -> None:
        announced_to(ledger, record(7))

    monkeypatch.setattr(restored_store, "read_on", read_on)
    store = ContestedStore(record(5), other)
    await MemoryStore.save(store, [Save(record(5), 0)])
    assert await restored_store.raise_above_ledger(store, "localhost:1") == raised
    (held,) = (await store.load([record(1).feedback_id])).values()
    assert held.revision == (8 if raised else 9)


def test_a_group_is_only_moved_back() -> None:
    lanes = [TopicPartition("t", n) for n in range(4)]
    committed = {lanes[0]: 10, lanes[1]: 10, lanes[2]: None, lanes[3]: 4}
    assert earlier(committed, {lanes[0]: 3, lanes[1]: 12, lanes[2]: 0}) == {lanes[0]: 3}


@pytest.mark.parametrize("busy", ["reporting", "feedback_erasures"])
async def test_no_group_is_rewound_while_one_has_members(monkeypatch: pytest.MonkeyPatch, busy: str) -> None:
    """A member's next commit would undo the reset."""
    asked: list[str] = []

    class Admin:
        async def describe_consumer_groups(self, groups: list[str]) -> list[Any]:
            asked.extend(groups)
            members = [("id", "agent-feedback-1", "/127.0.0.1", b"", b"")] if groups == [busy] else []
            return [SimpleNamespace(groups=[(0, groups[0], "Stable", "consumer", "range", members)])]

        async def close(self) -> None:
            asked.append("closed")

    async def admin_of(_: object) -> Admin:
        return Admin()

    monkeypatch.setattr(rewind, "admin_of", admin_of)
    monkeypatch.setattr(rewind, "_rewind", None)  # no call
    with pytest.raises(StartError, match=f"The group {busy} has 1 members"):
        await rewind.rewind("localhost:1", rewind.GROUPS, None)
    assert asked == [*rewind.GROUPS[: rewind.GROUPS.index(busy) + 1], "closed"]
