"""Feedback store in MongoDB.

A batch takes one query to load the records, and one conditional bulk write to save them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from pymongo import InsertOne, ReplaceOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import BulkWriteError, DuplicateKeyError

from contracts.erasure import Erasure, Person, TrainingChoice
from contracts.message_fields import TurnKey
from contracts.sources import REVIEW
from feedback.model import Key, LedgerEntries, LedgerEntry, Record, from_document, to_document, unknown_entries
from feedback.mongo_connection import DUPLICATE_KEY, transient_as_unavailable, waiting_helps
from feedback.store import NOBODY, RecordChanges, Save, Saved

Document = dict[str, Any]


class MongoStore:
    """MongoDB implementation of `Store`, with the collections `feedback` and `erasures`.

    `database` must have majority read and write concerns (see `mongo_connection`).
    """

    def __init__(self, database: AsyncDatabase[Document]) -> None:
        self._database = database
        self._feedback: AsyncCollection[Document] = database["feedback"]
        self._erasures: AsyncCollection[Document] = database["erasures"]

    async def make_indexes(self) -> None:
        """Create missing indexes. Several processes may call this concurrently."""
        with transient_as_unavailable():
            await self._feedback.create_index([(name, 1) for name in Key._fields], unique=True, name="key")
            await self._feedback.create_index([("tenant", 1), ("user_id", 1), ("_id", 1)], name="person")
            await self._feedback.create_index([("conversation_id", 1), ("slots.payload.turn_id", 1)], name="turn")

    async def load(self, feedback_ids: Collection[UUID]) -> Mapping[UUID, Record]:
        with transient_as_unavailable():
            documents = self._feedback.find({"_id": {"$in": list(feedback_ids)}})
            return {document["_id"]: from_document(document) async for document in documents}

    async def changes(
        self, revisions: Mapping[UUID, int], people: Collection[Person], turns: Collection[TurnKey]
    ) -> RecordChanges:
        stored = await self.load(revisions) if revisions else {}
        revised = {id_: record.revision for id_, record in stored.items()}
        changed = {id_: stored.get(id_) for id_, revision in revisions.items() if revised.get(id_, 0) != revision}
        on_turns = {*turns} | {record.turn for record in stored.values() if record.is_verdict}
        ledger = await self._entries(people)
        return RecordChanges(changed, ledger, await self._on_turns(on_turns))

    async def save(
        self, saves: Sequence[Save], people: Collection[Person] = (), ledger: LedgerEntries = NOBODY
    ) -> Saved:
        written = await self._save(saves)
        # An entry that this read does not find is written to the ledger later, and then finds the written records.
        return Saved(written, unknown_entries(await self._entries(people), ledger))

    async def _save(self, saves: Sequence[Save]) -> set[UUID]:
        if not saves:
            return set()
        mark = uuid4()
        ordered = sorted(saves, key=lambda save: save.record.feedback_id)
        with transient_as_unavailable():
            if await self._write([_operation(save, mark) for save in ordered]) == len(saves):
                return {save.record.feedback_id for save in saves}
            # The counts do not show which writes lost the race, and another process may have written the same revision.
            # The mark is unique to this call, so it shows which records this call has written.
            ids = [save.record.feedback_id for save in ordered]
            ours = self._feedback.find({"_id": {"$in": ids}, "written_by": mark}, {"_id": 1})
            return {document["_id"] async for document in ours}

    async def _write(self, operations: Sequence[InsertOne[Document] | ReplaceOne[Document]]) -> int:
        """Run the operations.

        Returns:
            The number of written records, or -1 if a record to insert already existed.
        """
        try:
            result = await self._feedback.bulk_write(operations, ordered=False)
        except BulkWriteError as error:
            if waiting_helps(error) or not _only_lost(error):
                raise
            return -1
        return result.inserted_count + result.matched_count

    async def _on_turns(self, turns: Collection[TurnKey]) -> Sequence[Record]:
        if not turns:
            return []
        on_any = [
            {"conversation_id": turn.conversation_id, "slots.payload.turn_id": turn.turn_id}
            | {"tenant": turn.tenant, "project": turn.project, "source": {"$in": ["inference", REVIEW]}}
            for turn in turns
        ]
        with transient_as_unavailable():
            return [from_document(document) async for document in self._feedback.find({"$or": on_any})]

    def scan(self, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        return self._pages({"slots": {"$ne": None}}, batch)

    def scan_person(self, person: Person, batch: int = 500) -> AsyncIterator[Sequence[Record]]:
        return self._pages(person._asdict(), batch)

    async def _pages(self, wanted: Document, batch: int) -> AsyncIterator[Sequence[Record]]:
        last = UUID(int=0)
        while True:
            with transient_as_unavailable():
                page = self._feedback.find({**wanted, "_id": {"$gt": last}}).sort("_id", 1).limit(batch)
                documents = await page.to_list()
            if not documents:
                return
            last = documents[-1]["_id"]
            yield [from_document(document) for document in documents]

    async def note_erasures(self, erasures: Collection[Erasure]) -> set[Person]:
        return {
            erasure.person
            for erasure in erasures
            if await self._note(erasure.person, {"erased_at": erasure.erased_at, "request_id": erasure.request_id})
        }

    async def note_choices(self, choices: Collection[TrainingChoice]) -> set[Person]:
        noted = set()
        for person, chosen_at, choice_id, allowed in choices:
            order = {"chosen_at": chosen_at, "choice_id": choice_id}
            if await self._note(person, order, training_allowed=allowed):
                noted.add(person)
        return noted

    async def _note(self, person: Person, order: Mapping[str, Any], **values: Any) -> bool:
        """Write fields of a person's ledger entry, unless later ones are stored.

        Args:
            order: The fields that order the entries: a time, and an id for entries of one time.

        Returns:
            True if the fields were written.
        """
        (time, moment), (name, id_) = order.items()
        earlier = [{time: None}, {time: {"$lt": moment}}, {time: moment, name: {"$lt": id_}}]
        of_person = {"_id": _ledger_id(person), "$or": earlier}
        for _ in range(2):  # The first insert of a person's entry may lose a race.
            try:
                with transient_as_unavailable():
                    await self._erasures.update_one(
                        of_person, {"$set": {**person._asdict(), **order, **values}}, upsert=True
                    )
                return True
            except DuplicateKeyError:
                pass
        return False

    async def _entries(self, people: Collection[Person]) -> LedgerEntries:
        if not people:
            return NOBODY
        with transient_as_unavailable():
            entries = self._erasures.find({"_id": {"$in": [_ledger_id(person) for person in people]}})
            return {
                Person(line["tenant"], line["user_id"]): LedgerEntry(
                    line.get("erased_at"), line.get("training_allowed", True)
                )
                async for line in entries
            }

    async def count(self) -> Counter[str]:
        by_type = {"$group": {"_id": "$feedback_type", "count": {"$sum": 1}}}
        with transient_as_unavailable():
            groups = await self._feedback.aggregate([{"$match": {"slots": {"$ne": None}}}, by_type])
            return Counter({group["_id"]: group["count"] async for group in groups})

    async def ping(self) -> None:
        """Raise an error if MongoDB does not respond."""
        with transient_as_unavailable():
            await self._database.command("ping")


def _operation(save: Save, mark: UUID) -> InsertOne[Document] | ReplaceOne[Document]:
    record = save.record
    document: Document = {"_id": record.feedback_id, **to_document(record), "written_by": mark}
    if save.loaded_revision == 0:
        return InsertOne(document)
    return ReplaceOne({"_id": record.feedback_id, "revision": save.loaded_revision}, document)


def _only_lost(error: BulkWriteError) -> bool:
    """Return True if the write failed only because another process had inserted the same records first."""
    return all(failed["code"] == DUPLICATE_KEY for failed in error.details["writeErrors"])


def _ledger_id(person: Person) -> str:
    """Return the id of a person's ledger entry. It is unique, because tenant names contain no slash."""
    return f"{person.tenant}/{person.user_id}"
