"""Brings touched records to where the store, the words said and the erasure ledger agree, and announces them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from feedback.announce import message_of, tombstone_of
from feedback.erasure import ERASED, ErasedAt, forget, is_erased
from feedback.merge import merge, outcome_of, revise
from feedback.model import Change, Key, Person, Record
from feedback.store import Save, Store
from servicekit.outcome import Outcome
from servicekit.producer import Message, Producer
from servicekit.records import Headers


@dataclass(frozen=True, slots=True)
class Word:
    """A change, its place in the batch, and its log time in microseconds."""

    index: int
    change: Change
    log_time: int


@dataclass(frozen=True, slots=True)
class Touched:
    """A feedback that a batch is about: what is said of it, nothing where it is only to be announced again."""

    key: Key
    words: tuple[Word, ...] = ()
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """A feedback as it stands in the store, None where there is none, and what became of each word."""

    record: Record | None
    outcomes: Mapping[int, Outcome]


class Settler:
    """Announces every touched record, changed or not, with what the store holds.

    A repeat costs one repeated announcement under the same event id, and a crash anywhere costs nothing.

    An erasure enters the ledger before it looks for records, and everybody looks into the ledger after each write and
    again after each announcement. So of an erasure and a batch that race, at least one sees the other, and the last
    thing announced of a forgotten record is its tombstone.
    """

    def __init__(self, store: Store, producer: Producer) -> None:
        self._store = store
        self._producer = producer

    async def settle(self, touched: Mapping[UUID, Touched]) -> tuple[dict[UUID, Settled], bool]:
        """Settle and announce feedbacks that nobody else has words about at this moment.

        Gives how each stands, and whether anything was written.
        """
        settled: dict[UUID, Settled] = {}
        wrote = False
        people = {one.key.person for one in touched.values()}
        ledger = await self._store.erased_at(people)
        open_ids: Collection[UUID] = touched
        while open_ids:
            to_announce = set(open_ids)
            while open_ids:
                lost, saved = await self._write({id_: touched[id_] for id_ in open_ids}, ledger, settled)
                wrote = wrote or saved
                erased, ledger = await self._erased(touched, people, ledger)
                open_ids = lost | erased
                to_announce |= open_ids
            await self._producer.send(
                [
                    _said(touched[id_], settled[id_].record, ledger.get(touched[id_].key.person))
                    for id_ in sorted(to_announce)
                ],
            )
            open_ids, ledger = await self._erased(touched, people, ledger)
        return settled, wrote

    async def restate(self, feedbacks: Mapping[UUID, Touched]) -> bool:
        """Settle and announce feedbacks that others may be writing at this moment, until none is newer than announced.

        Their words are left out: they have been settled. Gives whether anything was written.
        """
        wrote = False
        while feedbacks:
            feedbacks = {id_: replace(one, words=()) for id_, one in feedbacks.items()}
            settled, written = await self.settle(feedbacks)
            wrote = wrote or written
            feedbacks = await self.overtaken(feedbacks, settled)
        return wrote

    async def overtaken(self, touched: Mapping[UUID, Touched], settled: Mapping[UUID, Settled]) -> dict[UUID, Touched]:
        """Those that somebody else has written since: what we announced of them may lie behind the newer word.

        Two may write one feedback where its events come on two partitions: producers of others, added partitions.
        """
        now = await self._store.revisions(touched)
        return {id_: one for id_, one in touched.items() if now.get(id_, 0) != _revision(settled[id_])}

    async def _write(
        self, touched: Mapping[UUID, Touched], ledger: ErasedAt, settled: dict[UUID, Settled]
    ) -> tuple[set[UUID], bool]:
        """Merge and write once, and note in `settled` what now stands.

        Gives the ids that lost to another writer, and whether any was written.
        """
        loaded = await self._store.load(touched)
        merged = {id_: _merged(loaded.get(id_), one, ledger.get(one.key.person)) for id_, one in touched.items()}
        saves = [
            Save(after.record, before.revision if before else 0)
            for after, before in ((after, loaded.get(id_)) for id_, after in merged.items())
            if after.record is not None and after.record is not before
        ]
        written = await self._store.save(saves)
        lost = {save.record.feedback_id for save in saves} - written
        for id_, after in merged.items():
            if id_ not in lost:
                settled[id_] = _first_told(settled.get(id_), after)
        return lost, bool(written)

    async def _erased(
        self, touched: Mapping[UUID, Touched], people: Collection[Person], ledger: ErasedAt
    ) -> tuple[set[UUID], ErasedAt]:
        """The records of people who were forgotten since `ledger` was read, and the ledger as it is now."""
        now = await self._store.erased_at(people)
        forgotten = {person for person in people if now.get(person) != ledger.get(person)}
        return {id_ for id_, one in touched.items() if one.key.person in forgotten}, now


def _revision(settled: Settled) -> int:
    return settled.record.revision if settled.record else 0


def _merged(stored: Record | None, touched: Touched, erased_at: int | None) -> Settled:
    """The record after the erasure and all words, one revision further on where they change it."""
    record = stored if stored is None else forget(stored, erased_at)
    log_time = 0 if record is stored else erased_at or 0
    outcomes: dict[int, Outcome] = {}
    for word in touched.words:
        if is_erased(word.change.entry.stamp.occurred_at, erased_at):
            outcomes[word.index] = ERASED
            continue
        merged = merge(record, word.change)
        outcomes[word.index] = outcome_of(record, merged, word.change)
        if merged is not record:
            log_time = max(log_time, word.log_time)
        record = merged
    return Settled(record if record is None or record is stored else revise(record, log_time), outcomes)


def _first_told(before: Settled | None, now: Settled) -> Settled:
    """Merging again what was written already finds it unchanged; only an erasure alters what became of a word."""
    if before is None:
        return now
    outcomes = {index: was if now.outcomes[index] != ERASED else ERASED for index, was in before.outcomes.items()}
    return Settled(now.record, outcomes)


def _said(touched: Touched, record: Record | None, erased_at: int | None) -> Message:
    """What is announced; a tombstone where nothing is stored, in case the log holds what a lost store announced."""
    if record is not None:
        return message_of(record, touched.headers)
    return tombstone_of(touched.key, (erased_at or 0) // 1_000, touched.headers)
