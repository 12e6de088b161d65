"""Broken parts, each of which violates one invariant. The simulation must detect every one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from chat_bridge.handlers import ChatHandler, Outcomes
from chat_bridge.model import BatchedEvent, IndexedMessage, ParkedEvent, ParkedKey
from chat_bridge.parking import Parking
from contracts.message_fields import MessageKey
from feedback.handlers import FeedbackHandler
from feedback.store import RecordChanges, Save, Saved
from feedback.writer import UnitOfWork, Update, write_and_announce
from proofs.simulation.fake_clients import SimulatedProducer
from proofs.simulation.processes import WITHOUT_SWEEP, SimulatedSubscription, Wiring
from servicekit.log.delivery import Commit, Delivery
from servicekit.log.outcome import Outcome
from servicekit.log.records import Message, Producer, RawRecord, Received, Written

LINGER = 1.5
"""Virtual seconds by which a response is delayed, for bugs that show only if another process acts in between."""


class BrokenStore:
    """Store of which a subclass replaces some calls."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class CommitsFirst(Delivery):
    """Commits before the work, like consumers with automatic commits."""

    async def deliver(self, records: Sequence[RawRecord], commit: Commit) -> None:
        accepted = await commit(records)

        async def done(_: Sequence[RawRecord]) -> bool:
            return accepted

        await super().deliver(records, done)


class AnnouncesChangesOnly(FeedbackHandler):
    """Announces only what this batch changed, and nothing that a crash left unannounced."""

    def __init__(self, store: Any, producer: Producer, rewards: Mapping[str, float]) -> None:
        changed: set[UUID] = set()
        super().__init__(_Noting(store, changed), _Only(producer, changed), rewards)


class _Noting(BrokenStore):
    def __init__(self, store: Any, changed: set[UUID]) -> None:
        super().__init__(store)
        self._changed = changed

    async def save(self, *arguments: Any) -> Saved:
        written: Saved = await self._store.save(*arguments)
        self._changed |= written.ids
        return written


class _Only:
    def __init__(self, producer: Producer, changed: set[UUID]) -> None:
        self._producer = producer
        self._changed = changed

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        changed = [message for message in messages if message.key and UUID(message.key) in self._changed]
        self._changed.clear()
        return await self._producer.send(changed)


class Oblivious(BrokenStore):
    """Never reports that another process was faster."""

    async def changes(self, revisions: Mapping[Any, int], *arguments: Any) -> RecordChanges:
        changes: RecordChanges = await self._store.changes(revisions, *arguments)
        return changes._replace(records={}) if any(revisions.values()) else changes


class NeverMends(FeedbackHandler):
    """Leaves a stale announcement as the last one."""

    async def _write(self, updates: Mapping[UUID, Update]) -> UnitOfWork:
        return await write_and_announce(Oblivious(self._store), self._producer, updates)

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        return None


class Unguarded(BrokenStore):
    """Overwrites the stored record without a guard."""

    async def changes(self, *arguments: Any) -> RecordChanges:
        changes: RecordChanges = await self._store.changes(*arguments)
        await asyncio.sleep(LINGER)
        return changes

    async def save(self, saves: Sequence[Save], *ledger: Any) -> Saved:
        stored = await self._store.load([save.record.feedback_id for save in saves])
        revisions = {id_: record.revision for id_, record in stored.items()}
        unguarded = [replace(save, loaded_revision=revisions.get(save.record.feedback_id, 0)) for save in saves]
        written: Saved = await self._store.save(unguarded, *ledger)
        return written


class LooksBeforeItParks(ChatHandler):
    """Parks an event without checking for its original again afterwards, in histories without a sweep."""

    async def _release(self, changed: set[MessageKey], waiting: Mapping[BatchedEvent, ParkedEvent]) -> Outcomes:
        return await super()._release(changed, {})


class ForgetsFirst(Parking):
    """Removes an event from parking before it is forwarded."""

    async def release(
        self, pairs: Sequence[tuple[ParkedEvent, IndexedMessage]]
    ) -> Mapping[tuple[ParkedKey, str], Outcome]:
        await self._store.unpark([parked.key for parked, _ in pairs])
        return await super().release(pairs)


class ForgetsVerdicts(BrokenStore):
    """Announces a verdict without regard to one that another process stored meanwhile."""

    async def around(self, *arguments: Any) -> Any:
        neighbourhoods = await self._store.around(*arguments)
        await asyncio.sleep(LINGER)
        return neighbourhoods

    async def take(self, *arguments: Any) -> Mapping[Any, Any]:
        await self._store.take(*arguments)
        return {}


class LosesTheLedger(BrokenStore):
    """Loses its erasure ledger."""

    async def erased_at(self, people: Collection[Any]) -> Mapping[Any, int]:
        return {}

    async def changes(self, *arguments: Any) -> RecordChanges:
        changes: RecordChanges = await self._store.changes(*arguments)
        return changes._replace(ledger={})

    async def save(self, saves: Sequence[Save], *ledger: Any) -> Saved:
        written: Saved = await self._store.save(saves)
        return written


class GoesOn(SimulatedSubscription):
    """Skips a batch that failed with an unexpected error."""

    def _rewind(self, *arguments: Any) -> None:
        return None


class KeepsTheFailedOne(SimulatedProducer):
    """Keeps a producer whose sequence is broken."""

    async def _drop(self, producer: Any) -> None:
        return None


def _for(kind: str, broken: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda of, store: broken(store) if of == kind else store


PLANTED: dict[str, Wiring] = {
    "commits before the work": Wiring(delivery=CommitsFirst),
    "announces only what changed": Wiring(feedback_events=AnnouncesChangesOnly),
    "lets a stale announcement stand last": Wiring(feedback_events=NeverMends, likelier={"freeze": 60}),
    "writes unguarded": Wiring(store=_for("feedback", Unguarded)),
    "takes in what an erased person says": Wiring(store=_for("feedback", LosesTheLedger)),
    "parks without looking again": replace(WITHOUT_SWEEP, chat_events=LooksBeforeItParks),
    "forgets before it forwards": Wiring(parking=ForgetsFirst, likelier={"crash": 40}),
    "forgets an earlier verdict": Wiring(store=_for("inference", ForgetsVerdicts), likelier={"stall": 30}),
    "passes over a batch after the unexpected": Wiring(subscription=GoesOn),
    "keeps a producer that failed": Wiring(producer=KeepsTheFailedOne),
}
"""Broken parts by the name of the bug."""
