"""The ledger `feedback.created` against the store: announce all of it anew, or compare the two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aiokafka import ConsumerRecord, TopicPartition
from pydantic import ValidationError

from contracts.feedback import FeedbackCreated
from contracts.topics import FEEDBACK_CREATED
from feedback.announce import announcement
from feedback.model import Record
from feedback.settle import Settler, Touched
from feedback.store import Store
from servicekit.producer import Producer
from servicekit.records import REVISION, header
from standalone.log_tail import records_of

ROUNDS = 5
"""Times that a difference is looked at again before it counts: what is being written now is on its way."""
ROUND_SECONDS = 1.0


async def republish(store: Store, producer: Producer, progress: Callable[[int], None] = lambda _: None) -> int:
    """Announce every stored feedback once more; gives how many. People erased meanwhile stay erased.

    Safe to repeat and to run beside the services: the same revision is announced under the same event id.
    """
    settler, announced = Settler(store, producer), 0
    async for records in store.scan():
        await settler.restate({record.feedback_id: Touched(record.key) for record in records})
        announced += len(records)
        progress(len(records))
    return announced


@dataclass
class Ledger:
    """The topic as a consumer ends up with it: the highest revision of each feedback, unless its last word is a null.

    `stale` are those whose last record is not their highest: compaction would keep the older word. `ended` gives the
    revisions at which people were forgotten.
    """

    records: int = 0
    highest: dict[UUID, FeedbackCreated] = field(default_factory=dict)
    stale: set[UUID] = field(default_factory=set)
    ended: dict[UUID, int] = field(default_factory=dict)
    unreadable: int = 0
    ends: dict[TopicPartition, int] = field(default_factory=dict)

    def take(self, record: ConsumerRecord) -> None:
        self.records += 1
        self.ends[TopicPartition(record.topic, record.partition)] = record.offset + 1
        try:
            feedback_id = UUID((record.key or b"").decode("ascii"))
            event = None if record.value is None else FeedbackCreated.model_validate_json(record.value)
        except (ValueError, ValidationError):
            self.unreadable += 1
            return
        self.stale.discard(feedback_id)
        if event is None:
            named = header(record.headers, REVISION) or ""
            ended = int(named) if named.isdecimal() else 0
            self.ended[feedback_id] = max(ended, self.ended.get(feedback_id, 0))
            self.highest.pop(feedback_id, None)
            return
        if event.revision <= self.ended.get(feedback_id, 0):
            self.stale.add(feedback_id)
            return
        held = self.highest.get(feedback_id)
        if held is None or event.revision >= held.revision:
            self.highest[feedback_id] = event
        else:
            self.stale.add(feedback_id)


async def verify(bootstrap: str, store: Store, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Compare ledger and store; `{"records", "feedbacks", "stored", "unreadable", "missing", "extra", "differing",
    "stale", "first_difference"}`, the four counts all 0 and the last null where they agree."""
    ledger = Ledger()
    await _read_on(bootstrap, ledger)
    progress(f"{ledger.records:,} records read")
    stored: dict[UUID, Record] = {}
    async for records in store.scan():
        stored.update((record.feedback_id, record) for record in records)
    found = _differences(ledger, stored)
    for _ in range(ROUNDS):
        if not found:
            break
        await asyncio.sleep(ROUND_SECONDS)
        now = await store.load(list(found))
        for feedback_id in found:
            stored.pop(feedback_id, None)
        stored.update((id_, record) for id_, record in now.items() if not record.forgotten)
        await _read_on(bootstrap, ledger)
        found = {id_: kind for id_, kind in _differences(ledger, stored).items() if id_ in found}
    kinds = list(found.values())
    first = min(found, key=str) if found else None
    return {
        "records": ledger.records,
        "feedbacks": len(ledger.highest),
        "stored": len(stored),
        "unreadable": ledger.unreadable,
        **{kind: kinds.count(kind) for kind in _WORDS},
        "first_difference": None if first is None else _in_words(first, found[first], ledger, stored),
    }


def agrees(facts: Mapping[str, Any]) -> bool:
    """Whether `verify` found nothing."""
    return facts["first_difference"] is None and not facts["unreadable"]


async def _read_on(bootstrap: str, ledger: Ledger) -> None:
    async for records in records_of(bootstrap, [FEEDBACK_CREATED.name], ledger.ends):
        for record in records:
            ledger.take(record)


_WORDS = {
    "missing": "is stored at revision {stored} and not in the ledger",
    "extra": "is in the ledger at revision {told} and not stored",
    "differing": "is stored at revision {stored}, the ledger says revision {told} or something else in it",
    "stale": "was announced last at a revision older than its newest: compaction would keep that",
}


def _differences(ledger: Ledger, stored: Mapping[UUID, Record]) -> dict[UUID, str]:
    found: dict[UUID, str] = {}
    for feedback_id in ledger.highest.keys() | stored.keys() | ledger.stale:
        told, record = ledger.highest.get(feedback_id), stored.get(feedback_id)
        if told is None:
            found[feedback_id] = "stale" if record is None else "missing"
        elif record is None:
            found[feedback_id] = "extra"
        elif told != announcement(record):
            found[feedback_id] = "differing"
        elif feedback_id in ledger.stale:
            found[feedback_id] = "stale"
    return found


def _in_words(feedback_id: UUID, kind: str, ledger: Ledger, stored: Mapping[UUID, Record]) -> str:
    told, record = ledger.highest.get(feedback_id), stored.get(feedback_id)
    words = _WORDS[kind].format(stored=record.revision if record else None, told=told.revision if told else None)
    return f"Feedback {feedback_id} {words}."
