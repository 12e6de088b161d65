"""Republication of the feedback store to the ledger (the topic `feedback.created`), and comparison of the two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aiokafka import ConsumerRecord, TopicPartition
from pydantic import ValidationError

from contracts.feedback import FeedbackCreated
from contracts.headers import revision_named
from contracts.topics import FEEDBACK_CREATED
from feedback.model import Record
from feedback.store import Store
from feedback.writer import Update, announcement, message_of, write_and_announce
from servicekit.errors import error_summary
from servicekit.log.cluster import Bootstrap
from servicekit.log.reader import records_of
from servicekit.log.records import Producer
from standalone.terminal import say

ROUNDS = 5
"""Number of times that differences are checked again, because a record may not have reached the log yet."""
ROUND_SECONDS = 1.0


@dataclass
class Republished:
    """Result of republishing a store.

    Attributes:
        announced: Number of announced records.
        impossible: Reasons why records cannot be announced, by feedback id.
        raised: Number of records whose revision was raised beforehand, or None if that was not requested.
    """

    announced: int = 0
    impossible: dict[UUID, str] = field(default_factory=dict)
    raised: int | None = None


async def republish(store: Store, producer: Producer, progress: Callable[[int], None] = lambda _: None) -> Republished:
    """Announce all stored feedback records again, skipping those that cannot be announced.

    It is safe to repeat this while services are running, because a revision always has the same event id. People who
    are erased meanwhile stay erased.

    Args:
        progress: Called with the number of records in each page.
    """
    result = Republished()
    async for records in store.scan():
        faults = {record.feedback_id: fault_of(record) for record in records}
        result.impossible |= {id_: fault for id_, fault in faults.items() if fault}
        sound = {stored.feedback_id: Update(stored.key) for stored in records if not faults[stored.feedback_id]}
        await write_and_announce(store, producer, sound)
        result.announced += len(sound)
        progress(len(records))
    return result


def fault_of(record: Record) -> str:
    """Return the reason why a record cannot be announced, or an empty string if it can."""
    try:
        message_of(record)
    except ValidationError as error:
        return error_summary(error.errors(include_url=False, include_context=False, include_input=False))
    return ""


@dataclass
class Ledger:
    """State of a consumer that has read the whole topic `feedback.created`.

    Attributes:
        records: Number of records read.
        highest: Announcement with the highest revision of each feedback record that was not erased.
        last: Revision of the last announcement of each feedback record in each partition. Compaction keeps only these.
            There may be several partitions, because partitions can be added to the topic.
        ended: Revision of the tombstone of each erased feedback record.
        junk: Offset of the last record that is not an announcement, by partition and key. Compaction removes it once a
            later record or tombstone has the same key.
        ends: Offset after the last record read, by partition.
    """

    records: int = 0
    highest: dict[UUID, FeedbackCreated] = field(default_factory=dict)
    last: dict[UUID, dict[int, int]] = field(default_factory=dict)
    ended: dict[UUID, int] = field(default_factory=dict)
    junk: dict[tuple[int, bytes], int] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)

    def take(self, record: ConsumerRecord) -> None:
        self.records += 1
        self.ends[TopicPartition(record.topic, record.partition)] = record.offset + 1
        key = record.key or b""
        self.junk.pop((record.partition, key), None)
        try:
            event = None if record.value is None else FeedbackCreated.from_wire(record.value)
            feedback_id = UUID(key.decode("ascii"))
            if event is not None and event.feedback_id != feedback_id:
                raise ValueError("the key is another record's")
        except (TypeError, ValueError):
            if record.value is not None:
                self.junk[record.partition, key] = record.offset
            return
        highest = self.highest.get(feedback_id)
        if event is None:
            ended = revision_named(record.headers)
            self.ended[feedback_id] = max(ended or 0, self.ended.get(feedback_id, 0))
            self.last.get(feedback_id, {}).pop(record.partition, None)
            if highest is not None and (ended is None or highest.revision <= ended):
                del self.highest[feedback_id]
            return
        self.last.setdefault(feedback_id, {})[record.partition] = event.revision
        is_erased = event.revision <= self.ended.get(feedback_id, 0)
        if not is_erased and (highest is None or event.revision >= highest.revision):
            self.highest[feedback_id] = event

    @property
    def stale(self) -> set[UUID]:
        """Feedback records of which compaction would keep an erased announcement, or would delete the latest one."""
        return {feedback_id for feedback_id, last in self.last.items() if self._is_stale(feedback_id, last.values())}

    def _is_stale(self, feedback_id: UUID, last: Collection[int]) -> bool:
        highest = self.highest.get(feedback_id)
        if highest is not None and highest.revision not in last:
            return True
        ended = self.ended.get(feedback_id, 0)
        return any(revision <= ended for revision in last)


async def verify(
    bootstrap: Bootstrap, store: Store, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Compare the ledger (the topic `feedback.created`) with the feedback store.

    Returns:
        The fields "records", "feedbacks", "stored", "unreadable", "missing", "extra", "differing", "stale",
            "impossible", "first_difference" and "unreadable_at". If both agree, the counts of differences are 0 and
            "first_difference" is None.
    """
    ledger = Ledger()
    await read_on(bootstrap, ledger)
    progress(f"{ledger.records:,} records read")
    stored: dict[UUID, Record] = {}
    async for records in store.scan():
        stored.update((record.feedback_id, record) for record in records)
    differing = differences(ledger, stored)
    for _ in range(ROUNDS):
        if not differing:
            break
        await asyncio.sleep(ROUND_SECONDS)
        now = await store.load(list(differing))
        for feedback_id in differing:
            stored.pop(feedback_id, None)
        stored.update((id_, record) for id_, record in now.items() if not record.forgotten)
        await read_on(bootstrap, ledger)
        differing = {id_: kind for id_, kind in differences(ledger, stored).items() if id_ in differing}
    kinds = list(differing.values())
    first = min(differing, key=str) if differing else None
    return {
        "records": ledger.records,
        "feedbacks": len(ledger.highest),
        "stored": len(stored),
        "unreadable": len(ledger.junk),
        "unreadable_at": [
            f"{FEEDBACK_CREATED.name}:{partition}:{offset}" for (partition, _), offset in sorted(ledger.junk.items())
        ],
        **{kind: kinds.count(kind) for kind in _WORDS},
        "first_difference": None if first is None else _in_words(first, differing[first], ledger, stored),
    }


def agrees(facts: Mapping[str, Any]) -> bool:
    """Return True if the result of `verify` contains no difference."""
    return facts["first_difference"] is None and not facts["unreadable"]


async def read_on(bootstrap: Bootstrap, ledger: Ledger) -> None:
    """Read the records that `ledger` has not read yet, up to the current end of the topic."""
    async for records in records_of(bootstrap, [FEEDBACK_CREATED.name], ledger.ends, say):
        for record in records:
            ledger.take(record)


_WORDS = {
    "missing": "is stored at revision {stored} but not in the ledger",
    "extra": "is in the ledger at revision {latest} but not stored",
    "differing": "is stored at revision {stored}; the ledger has revision {latest}, or other content",
    "stale": "was last announced at an older or erased revision in a partition: compaction would keep that one",
    "impossible": "is stored at revision {stored}, and no announcement can represent it: `ledger republish` says why",
}


def differences(ledger: Ledger, stored: Mapping[UUID, Record]) -> dict[UUID, str]:
    kinds: dict[UUID, str] = {}
    stale = ledger.stale
    for feedback_id in ledger.highest.keys() | stored.keys() | stale:
        latest, record = ledger.highest.get(feedback_id), stored.get(feedback_id)
        if record is not None and fault_of(record):
            kinds[feedback_id] = "impossible"
        elif latest is None:
            kinds[feedback_id] = "stale" if record is None else "missing"
        elif record is None:
            kinds[feedback_id] = "extra"
        elif latest != announcement(record):
            kinds[feedback_id] = "differing"
        elif feedback_id in stale:
            kinds[feedback_id] = "stale"
    return kinds


def _in_words(feedback_id: UUID, kind: str, ledger: Ledger, stored: Mapping[UUID, Record]) -> str:
    latest, record = ledger.highest.get(feedback_id), stored.get(feedback_id)
    words = _WORDS[kind].format(stored=record.revision if record else None, latest=latest.revision if latest else None)
    return f"Feedback {feedback_id} {words}."
