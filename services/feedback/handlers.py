"""Handler of received feedback, erasure requests and choices about training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from contracts.erasure import Erasure, Person, TrainingChoice, confirmation, erasure_of, latest
from contracts.feedback import FeedbackErasureRequested, FeedbackTrainingChosen
from contracts.topics import (
    ERASURE_CONFIRMED,
    ERASURE_REQUESTED,
    EXPLICIT_RECEIVED,
    INFERRED_RECEIVED,
    REACTION_RECEIVED,
    REPLY_RECEIVED,
    TRAINING_CHOSEN,
)
from feedback.reward import change_of
from feedback.store import Store
from feedback.writer import BatchChange, UnitOfWork, Update, write_and_announce
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Message, Producer, Received

FEEDBACK_TOPICS: Final = (
    *(REPLY_RECEIVED, REACTION_RECEIVED, EXPLICIT_RECEIVED, INFERRED_RECEIVED),
    *(ERASURE_REQUESTED, TRAINING_CHOSEN),
)
Request = Erasure | TrainingChoice
"""Request about all records of a person."""
NO_PROJECTS: Mapping[tuple[str, str], Mapping[str, float]] = MappingProxyType({})


class FeedbackHandler(Handler):
    """Handler of received feedback, erasure requests and choices about training.

    `write_and_announce` keeps the store, the erasure ledger and the log consistent.

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
        requests, updates, outcomes = self._sorted(batch)
        carried_out, counts = await self._carry_out(requests)
        outcomes |= carried_out
        outcomes |= (await self._write(updates)).outcomes
        await self._confirm(requests, counts, batch)
        return [outcomes[index] for index in range(len(batch))]

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        """Announce the records of a batch again, after the batch's offset commit was lost.

        Another process may have changed and announced one of the records in the meantime. If this process then
        announced its older state of the record, the log ends with an outdated announcement.
        """
        requests, updates, _ = self._sorted(batch)
        await self._carry_out(requests)
        stored = {id_: replace(update, changes=()) for id_, update in updates.items()}
        await self._write(stored)

    async def _write(self, updates: Mapping[UUID, Update]) -> UnitOfWork:
        return await write_and_announce(self._store, self._producer, updates)

    def _sorted(
        self, batch: Sequence[Received[Any]]
    ) -> tuple[dict[int, Request], dict[UUID, Update], dict[int, Outcome]]:
        """Split a batch into requests of people, updates and ignored events.

        Returns:
            The requests by index in the batch, the updates by feedback id, and the outcomes of ignored events by index
            in the batch.
        """
        requests: dict[int, Request] = {}
        updates: dict[UUID, Update] = {}
        outcomes: dict[int, Outcome] = {}
        for index, received in enumerate(batch):
            if isinstance(received.event, FeedbackErasureRequested):
                requests[index] = erasure_of(received.event, received.first_log_time)
                continue
            if isinstance(received.event, FeedbackTrainingChosen):
                requests[index] = TrainingChoice.of(received.event)
                continue
            rewards = self._project_rewards.get((received.event.tenant, received.event.project), self._rewards)
            change = change_of(received.event, rewards)
            if isinstance(change, Outcome):
                outcomes[index] = change
                continue
            id_, update = change.key.feedback_id, BatchChange(index, change, received.log_time, received.first_log_time)
            before = updates[id_].changes if id_ in updates else ()
            updates[id_] = Update(change.key, (*before, update), received.derived_headers)
        return requests, updates, outcomes

    async def _confirm(
        self, requests: Mapping[int, Request], counts: Mapping[Person, int], batch: Sequence[Received[Any]]
    ) -> None:
        """Publish this service's confirmation of each erasure."""
        confirmations = [
            Message.of(
                ERASURE_CONFIRMED,
                confirmation(request, "feedback", counts[request.person]),
                batch[index].derived_headers,
            )
            for index, request in requests.items()
            if isinstance(request, Erasure)
        ]
        if confirmations:
            await self._producer.send(confirmations)

    async def _carry_out(self, requests: Mapping[int, Request]) -> tuple[dict[int, Outcome], Mapping[Person, int]]:
        """Write requests to the ledger, then apply them to all stored records of these people, in batches.

        If a request is repeated, all records are announced again, because the first run may have been interrupted.

        Returns:
            The outcomes by index in the batch, and the number of records by person.
        """
        if not requests:
            return {}, {}
        erasures = latest(request for request in requests.values() if isinstance(request, Erasure))
        ordered = sorted(request for request in requests.values() if isinstance(request, TrainingChoice))
        choices = {choice.person: choice for choice in ordered}
        changed = await self._store.note_erasures(erasures.values()) | await self._store.note_choices(choices.values())
        counts: Counter[Person] = Counter()
        for person in {**erasures, **choices}:
            log_time = choices[person].chosen_at if person in choices else 0
            async for records in self._store.scan_person(person):
                counts[person] += len(records)
                updates = {record.feedback_id: Update(record.key, log_time=log_time) for record in records}
                if (await self._write(updates)).has_changed:
                    changed.add(person)
        newest: list[Request] = [*erasures.values(), *choices.values()]
        outcomes = {
            index: Outcome.STORED if request in newest and request.person in changed else Outcome.UNCHANGED
            for index, request in requests.items()
        }
        return outcomes, counts
