"""Erasure of people's data: the ledger of a service, the guard of its writes, and the handler of erasures.

An erasure is written to the ledger first, and only then are the rows to delete looked up. The ledger is read before and
after a batch is handled, and rows of people who were erased in between are deleted. So if an erasure and a batch run
concurrently, either the erasure finds the batch's rows, or the batch finds the erasure in the ledger.

If the handler's store guards its writes, the ledger is not read beforehand. Instead, a write fails if someone in the
batch is in the ledger, and the batch is then handled without the guard as described above. An erasure waits for guarded
writes in progress. The check is part of SQL functions with the parameters `guarded_tenant` and `guarded_user`
(`Database.call`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol

import asyncpg

from contracts.erasure import ErasedAt, Erasure, Person, author_of, confirmation, erasure_of, is_erased, latest
from contracts.feedback import FeedbackKeeper
from contracts.topics import ERASURE_CONFIRMED, ERASURE_REQUESTED
from servicekit.db.sql import SQL
from servicekit.log.handler import Handler, handle_at
from servicekit.log.messages import Message, Producer
from servicekit.log.outcome import ERASED, Outcome
from servicekit.log.records import Received

_guarded: ContextVar[Collection[Person]] = ContextVar("guarded_people", default=())


class PersonErased(Exception):
    """Raised if a guarded person is in the erasure ledger. The call that raises it has not written anything."""


@contextmanager
def guarded(people: Collection[Person]) -> Iterator[None]:
    """Guard `people` in this block: guarded functions raise PersonErased if one of them is in the ledger."""
    token = _guarded.set(people)
    try:
        yield
    finally:
        _guarded.reset(token)


def guard_values() -> dict[str, list[str]]:
    """Return the currently guarded people as arguments for a guarded function. Without a guard, the lists are empty."""
    people = _guarded.get()
    return {
        "guarded_tenant": [person.tenant for person in people],
        "guarded_user": [person.user_id for person in people],
    }


Erase = Callable[[ErasedAt], Awaitable[int]]
"""Function that deletes everything that the given people said before their erasure, commits, and returns the number of
changed rows."""


class ErasureLedger:
    """Table of erased people with the time of each person's latest erasure."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures to the ledger, and return the people whose entries changed.

        An entry that already has a later erasure stays unchanged.

        Args:
            erasures: The erasures, at most one per person.
        """
        rows = sorted((*erasure.person, erasure.request_id, erasure.erased_at) for erasure in erasures)
        if not rows:
            return set()
        written = await self._pool.fetch(*SQL.note_erasures.bulk(rows))
        return {Person(row["tenant"], row["user_id"]) for row in written}

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the erasure time of each person in microseconds, omitting people who are not in the ledger."""
        if not people:
            return {}
        rows = await self._pool.fetch(*SQL.erased_at.bulk([*people]))
        return {Person(row["tenant"], row["user_id"]): row["erased_at"] for row in rows}

    @contextmanager
    def guard(self, people: Collection[Person]) -> Iterator[None]:
        """Make writes in this block fail if one of `people` is in the ledger.

        A failed write ends the block without an exception.
        """
        with suppress(PersonErased), guarded(people):
            yield


class LedgeredErasures(ErasureLedger):
    """Erasure ledger of a service, with the function that deletes a person's rows."""

    def __init__(self, pool: asyncpg.Pool, erase: Erase) -> None:
        super().__init__(pool)
        self._erase = erase

    async def erase(self, erased: ErasedAt) -> int:
        return await self._erase(erased)


class Erasures(Protocol):
    """Interface to the ledger of erased people and to the deletion of their data from the service's own store."""

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures to the ledger and commit. The ledger keeps each person's latest erasure.

        Args:
            erasures: The erasures, at most one per person.

        Returns:
            The people whose entries changed.
        """
        ...

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the erasure time of each person in microseconds, omitting people who are not in the ledger."""
        ...

    async def erase(self, erased: ErasedAt) -> int:
        """Delete everything that these people said before their erasure, and commit.

        Returns the number of changed rows.
        """
        ...


class ErasingHandler(Handler):
    """Handler wrapper that keeps the data of erased people out of the store.

    Args:
        is_guarded: True if `inner` itself checks for erasures (`erasure.py`). It must then do so in every write
            of people's text, and publish nothing before such a write.
    """

    def __init__(
        self,
        inner: Handler,
        erasures: Erasures,
        producer: Producer,
        service: FeedbackKeeper,
        *,
        is_guarded: bool = False,
    ) -> None:
        self._inner = inner
        self._erasures = erasures
        self._producer = producer
        self._service: FeedbackKeeper = service
        self._is_guarded = is_guarded
        self.takes_tombstones = inner.takes_tombstones

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        outcomes = await self._carry_out(batch)
        authors = [author_of(received.event) for received in batch]
        people = {author for author in authors if author is not None}
        if self._is_guarded and people:
            with suppress(PersonErased), guarded(people):
                outcomes |= await handle_at(_without(outcomes, batch), batch, self._inner)
                return [outcomes[index] for index in range(len(batch))]
        before = await self._erasures.erased_at(people) if people else {}
        for index, author in enumerate(authors) if before else ():
            if author is not None and is_erased(
                batch[index].event.occurred_at, before.get(author), batch[index].first_log_time
            ):
                outcomes[index] = ERASED
        if left := _without(outcomes, batch):
            outcomes |= await handle_at(left, batch, self._inner)
            await self._repeat(people, before)
        return [outcomes[index] for index in range(len(batch))]

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        if left := [received for received in batch if not _is_request(received)]:
            await self._inner.commit_lost(left)

    async def _carry_out(self, batch: Sequence[Received[Any]]) -> dict[int, Outcome]:
        """Carry out and confirm the erasures in the batch, and return their outcomes by index in the batch.

        Each erasure is written to the ledger first. A repeated request is carried out again.
        """
        erasures: dict[int, Erasure] = {}
        for index, received in enumerate(batch):
            if _is_request(received):
                erasures[index] = erasure_of(received.event, received.first_log_time)
        if not erasures:
            return {}
        newest = latest(erasures.values())
        noted = await self._erasures.note(newest.values())
        removed = await self._erasures.erase(await self._erasures.erased_at(newest))
        await self._producer.send(
            [
                Message.of(
                    ERASURE_CONFIRMED, confirmation(erasure, self._service, removed), batch[index].derived_headers
                )
                for index, erasure in erasures.items()
            ]
        )
        return {
            index: Outcome.STORED if erasure.person in noted else Outcome.UNCHANGED
            for index, erasure in erasures.items()
        }

    async def _repeat(self, people: Collection[Person], before: ErasedAt) -> None:
        """Delete the rows of people who were erased while the batch was being handled."""
        if not people:
            return
        after = await self._erasures.erased_at(people)
        if meanwhile := {person: erased_at for person, erased_at in after.items() if before.get(person) != erased_at}:
            await self._erasures.erase(meanwhile)


def _without(outcomes: Mapping[int, Outcome], batch: Sequence[object]) -> list[int]:
    """Return the indexes of the records that have no outcome yet."""
    return [index for index in range(len(batch)) if index not in outcomes]


def _is_request(received: Received[Any]) -> bool:
    return received.topic == ERASURE_REQUESTED.name
