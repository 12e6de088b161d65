"""Takes in received feedback and erasures batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from contracts.feedback import FeedbackErasureRequested
from feedback.erasure import Erasure, erasure_of, latest
from feedback.reward import change_of
from feedback.settle import Settler, Touched, Word
from feedback.store import Store
from servicekit.outcome import STORED, UNCHANGED, Ignored, Outcome
from servicekit.producer import Producer
from servicekit.records import Received, inherited


class FeedbackEvents:
    """The handler of the group `feedback`. How it keeps to store, ledger and log is the Settler's."""

    def __init__(self, store: Store, producer: Producer, rewards: Mapping[str, float]) -> None:
        self._store = store
        self._producer = producer
        self._rewards = rewards

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        erasures, touched, outcomes = self._sorted(batch)
        outcomes |= await self._erase(erasures)
        settler = self._settler()
        settled, _ = await settler.settle(touched)
        await settler.restate(await settler.overtaken(touched, settled))
        for one in settled.values():
            outcomes |= one.outcomes
        return [outcomes[index] for index in range(len(batch))]

    async def uncertain(self, batch: Sequence[Received[Any]]) -> None:
        """Announce once more what the store holds: a stale announcement of ours may lie behind a newer one."""
        erasures, touched, _ = self._sorted(batch)
        await self._erase(erasures)
        await self._settler().restate(touched)

    async def probe(self) -> None:
        await self._store.ping()

    def _settler(self) -> Settler:
        return Settler(self._store, self._producer)

    def _sorted(
        self, batch: Sequence[Received[Any]]
    ) -> tuple[dict[int, Erasure], dict[UUID, Touched], dict[int, Outcome]]:
        """The batch's erasures by their place in it, the feedbacks it is about, and what is decided already."""
        erasures: dict[int, Erasure] = {}
        touched: dict[UUID, Touched] = {}
        outcomes: dict[int, Outcome] = {}
        for index, received in enumerate(batch):
            if isinstance(received.event, FeedbackErasureRequested):
                erasures[index] = erasure_of(received)
                continue
            change = change_of(received.event, self._rewards)
            if isinstance(change, Ignored):
                outcomes[index] = change
                continue
            id_, word = change.key.feedback_id, Word(index, change, received.log_time)
            before = touched[id_].words if id_ in touched else ()
            touched[id_] = Touched(change.key, (*before, word), inherited(received))
        return erasures, touched, outcomes

    async def _erase(self, erasures: Mapping[int, Erasure]) -> dict[int, Outcome]:
        """Enter the ledger, then forget and announce everything stored of these people, however much that is.

        A repeated request announces all of it again: the first one may have ended half way.
        """
        outcomes: dict[int, Outcome] = dict.fromkeys(erasures, UNCHANGED)
        people = latest(erasures.values())
        noted = await self._store.note_erasures(people.values())
        changed = set(noted)
        for person in people:
            async for records in self._store.scan_person(person):
                if await self._settler().restate({record.feedback_id: Touched(record.key) for record in records}):
                    changed.add(person)
        return outcomes | {
            index: STORED for index, one in erasures.items() if one in people.values() and one.person in changed
        }
