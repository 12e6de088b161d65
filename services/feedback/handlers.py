"""Handler of received feedback and erasure requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from contracts.erasure import Erasure, Person, confirmation, erasure_of, latest
from contracts.feedback import FeedbackErasureRequested
from contracts.topics import (
    ERASURE_CONFIRMED,
    ERASURE_REQUESTED,
    EXPLICIT_RECEIVED,
    INFERRED_RECEIVED,
    REACTION_RECEIVED,
    REPLY_RECEIVED,
)
from feedback.reward import change_of
from feedback.store import Store
from feedback.writer import BatchChange, FeedbackWriter, Update
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Message, Producer, Received

FEEDBACK_TOPICS: Final = (REPLY_RECEIVED, REACTION_RECEIVED, EXPLICIT_RECEIVED, INFERRED_RECEIVED, ERASURE_REQUESTED)
NO_PROJECTS: Mapping[tuple[str, str], Mapping[str, float]] = MappingProxyType({})


class FeedbackHandler(Handler):
    """Handler of received feedback and erasure requests.

    `FeedbackWriter` keeps the store, the erasure ledger and the log consistent.

    Args:
        rewards: Rewards from -1 to 1 by normalised emoji.
        project_rewards: Rewards that replace `rewards` in single projects, by (tenant, project).
    """

    def __init__(
        self,
        store: Store,
        producer: Producer,
        rewards: Mapping[str, float],
        project_rewards: Mapping[tuple[str, str], Mapping[str, float]] = NO_PROJECTS,
    ) -> None:
        self._store = store
        self._producer = producer
        self._rewards = rewards
        self._project_rewards = project_rewards

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        erasures, updates, outcomes = self._sorted(batch)
        carried_out, removed = await self._erase(erasures)
        outcomes |= carried_out
        outcomes |= (await self._writer().write_and_announce(updates)).outcomes
        await self._confirm(erasures, removed, batch)
        return [outcomes[index] for index in range(len(batch))]

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        """Announce the records of a batch again, after the batch's offset commit was lost.

        Another process may have changed and announced one of the records in the meantime. If this process then
        announced its older state of the record, the log ends with an outdated announcement.
        """
        erasures, updates, _ = self._sorted(batch)
        await self._erase(erasures)
        stored = {id_: replace(update, changes=()) for id_, update in updates.items()}
        await self._writer().write_and_announce(stored)

    def _writer(self) -> FeedbackWriter:
        return FeedbackWriter(self._store, self._producer)

    def _sorted(
        self, batch: Sequence[Received[Any]]
    ) -> tuple[dict[int, Erasure], dict[UUID, Update], dict[int, Outcome]]:
        """Split a batch into erasures, updates and ignored events.

        Returns:
            The erasures by index in the batch, the updates by feedback id, and the outcomes of ignored events by index
            in the batch.
        """
        erasures: dict[int, Erasure] = {}
        updates: dict[UUID, Update] = {}
        outcomes: dict[int, Outcome] = {}
        for index, received in enumerate(batch):
            if isinstance(received.event, FeedbackErasureRequested):
                erasures[index] = erasure_of(received.event, received.first_log_time)
                continue
            rewards = self._project_rewards.get((received.event.tenant, received.event.project), self._rewards)
            change = change_of(received.event, rewards)
            if isinstance(change, Outcome):
                outcomes[index] = change
                continue
            id_, update = change.key.feedback_id, BatchChange(index, change, received.log_time, received.first_log_time)
            before = updates[id_].changes if id_ in updates else ()
            updates[id_] = Update(change.key, (*before, update), received.derived_headers)
        return erasures, updates, outcomes

    async def _confirm(
        self, erasures: Mapping[int, Erasure], removed: Mapping[Person, int], batch: Sequence[Received[Any]]
    ) -> None:
        """Publish this service's confirmation of each erasure."""
        if erasures:
            confirmations = {
                index: confirmation(erasure, "feedback", removed[erasure.person]) for index, erasure in erasures.items()
            }
            await self._producer.send(
                [
                    Message.of(ERASURE_CONFIRMED, event, batch[index].derived_headers)
                    for index, event in confirmations.items()
                ]
            )

    async def _erase(self, erasures: Mapping[int, Erasure]) -> tuple[dict[int, Outcome], Mapping[Person, int]]:
        """Write erasures to the ledger, then erase and announce all stored records of these people, in batches.

        If a request is repeated, all records are announced again, because the first run may have been interrupted.

        Returns:
            The outcomes by index in the batch, and the number of erased records by person.
        """
        outcomes: dict[int, Outcome] = dict.fromkeys(erasures, Outcome.UNCHANGED)
        people = latest(erasures.values())
        changed = set(await self._store.note_erasures(people.values()))
        removed: Counter[Person] = Counter()
        for person in people:
            async for records in self._store.scan_person(person):
                removed[person] += len(records)
                updates = {record.feedback_id: Update(record.key) for record in records}
                if (await self._writer().write_and_announce(updates)).has_changed:
                    changed.add(person)
        done = {
            index: Outcome.STORED
            for index, erasure in erasures.items()
            if erasure in people.values() and erasure.person in changed
        }
        return outcomes | done, removed
