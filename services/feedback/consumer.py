"""Takes in received feedback batch by batch: load, merge, write guarded, announce every touched record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from feedback.announce import message_of
from feedback.merge import merge, outcome_of, revise
from feedback.model import Change, Record
from feedback.reward import change_of
from feedback.store import Save, Store
from servicekit.outcome import Ignored, Outcome
from servicekit.producer import Producer
from servicekit.records import Headers, Received, inherited

Word = tuple[int, Change, int]
"""A change with its place in the batch and its log time."""


class FeedbackEvents:
    """The handler of the group `feedback`.

    Every touched record is announced, changed or not, with what the store holds: a repeat costs one repeated
    announcement under the same event id, and a crash anywhere costs nothing.
    """

    def __init__(self, store: Store, producer: Producer, rewards: Mapping[str, float]) -> None:
        self._store = store
        self._producer = producer
        self._rewards = rewards

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        outcomes: dict[int, Outcome] = {}
        words: dict[UUID, list[Word]] = {}
        headers: dict[UUID, Headers] = {}
        for index, received in enumerate(batch):
            change = change_of(received.event, self._rewards)
            if isinstance(change, Ignored):
                outcomes[index] = change
                continue
            feedback_id = change.key.feedback_id
            words.setdefault(feedback_id, []).append((index, change, received.log_time))
            headers[feedback_id] = inherited(received)
        held = await self._persist(words, outcomes)
        await self._producer.send([message_of(record, headers[id_]) for id_, record in sorted(held.items())])
        return [outcomes[index] for index in range(len(batch))]

    async def uncertain(self, batch: Sequence[Received[Any]]) -> None:
        """Announce once more what the store holds: a stale announcement of ours may lie behind a newer one."""
        changes = (change_of(received.event, self._rewards) for received in batch)
        touched = {change.key.feedback_id for change in changes if isinstance(change, Change)}
        held = await self._store.load(touched)
        await self._producer.send([message_of(record) for _, record in sorted(held.items())])

    async def probe(self) -> None:
        await self._store.ping()

    async def _persist(self, words: Mapping[UUID, list[Word]], outcomes: dict[int, Outcome]) -> dict[UUID, Record]:
        """Merge and write until every touched record stands in the store; gives each as it stands there."""
        held: dict[UUID, Record] = {}
        open_ids: Collection[UUID] = words
        while open_ids:
            loaded = await self._store.load(open_ids)
            merged = {id_: _merge(loaded.get(id_), words[id_], outcomes) for id_ in open_ids}
            saves = [
                Save(record, loaded[id_].revision if id_ in loaded else 0)
                for id_, record in merged.items()
                if record is not loaded.get(id_)
            ]
            lost = {save.record.feedback_id for save in saves} - await self._store.save(saves)
            held.update((id_, record) for id_, record in merged.items() if id_ not in lost)
            open_ids = lost
        return held


def _merge(record: Record | None, words: Sequence[Word], outcomes: dict[int, Outcome]) -> Record:
    """The record after all words, one revision further on where they change it; notes what became of each word."""
    stored = record
    log_time = 0
    for index, change, said_at in words:
        merged = merge(record, change)
        outcomes[index] = outcome_of(record, merged, change)
        if merged is not record:
            log_time = max(log_time, said_at)
        record = merged
    assert record is not None
    return record if record is stored else revise(record, log_time)
