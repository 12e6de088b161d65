"""Handler wrapper that carries out erasures: first in the ledger, then in the store, and again after each write.

An erasure writes to the ledger before it searches for rows. A batch reads the ledger before and after it is handled. If
an erasure and a batch are processed concurrently, at least one of them therefore sees the other.

If the handler's store guards its writes, the ledger is not read first. A guarded write fails if a person in the batch
is in the ledger, and an erasure waits for guarded writes in progress. After such a failure, the batch is handled like
an unguarded batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from contracts.erasure import ErasedAt, Erasure, Person, author_of, confirmation, erasure_of, is_erased, latest, said_at
from contracts.feedback import FeedbackKeeper
from contracts.topics import ERASURE_CONFIRMED, ERASURE_REQUESTED
from servicekit.erasure_guard import PersonErased, guarded
from servicekit.log.handler import Handler
from servicekit.log.messages import Message, Producer
from servicekit.log.outcome import ERASED, TOMBSTONE, Outcome
from servicekit.log.records import Received, Tombstone, Unreadable


class Erasures(Protocol):
    """Port for a service's erasures: its ledger, and the deletion in its own store."""

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures, at most one per person, to the ledger. Commit, and return the people with a changed entry.

        The ledger keeps each person's latest erasure.
        """
        ...

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the erasure times of those of `people` who are in the ledger, in microseconds."""
        ...

    async def erase(self, erased: ErasedAt) -> int:
        """Remove everything that these people said before their erasure, and commit.

        Return the number of changed rows.
        """
        ...


class ErasingHandler(Handler):
    """Handler that removes erased content from the batches of the handler `inner` and from its store.

    `is_guarded` is True if `inner` itself checks for erasures (`erasure_guard.py`) in each write of people's text, and
    in a write before it publishes.
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
        authors = [_author(received) for received in batch]
        people = {author for author in authors if author is not None}
        if self._is_guarded and people:
            others = [index for index in range(len(batch)) if index not in outcomes]
            with contextlib.suppress(PersonErased), guarded(people):
                handled = await self._inner.handle([batch[index] for index in others])
                outcomes |= zip(others, handled, strict=True)
                return [outcomes[index] for index in range(len(batch))]
        before = await self._erasures.erased_at(people) if people else {}
        for index, author in enumerate(authors) if before else ():
            if author is not None and is_erased(
                said_at(batch[index].event), before.get(author), batch[index].first_log_time
            ):
                outcomes[index] = ERASED
        left = [index for index in range(len(batch)) if index not in outcomes]
        if left:
            handled = await self._inner.handle([batch[index] for index in left])
            outcomes |= zip(left, handled, strict=True)
            await self._repeat(people, before)
        return [outcomes[index] for index in range(len(batch))]

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        if left := [received for received in batch if not _is_request(received)]:
            await self._inner.commit_lost(left)

    async def note_set_aside(self, refused: Sequence[Unreadable]) -> None:
        await self._inner.note_set_aside(refused)

    async def _carry_out(self, batch: Sequence[Received[Any]]) -> dict[int, Outcome]:
        """Write the batch's erasures to the ledger, carry them out, confirm them, and return their outcomes by index.

        A repeated request is carried out again.
        """
        outcomes: dict[int, Outcome] = {}
        found: dict[int, Erasure] = {}
        for index, received in enumerate(batch):
            if _is_request(received):
                outcomes[index] = TOMBSTONE
                if isinstance(received, Received):
                    found[index] = erasure_of(received.event, received.first_log_time)
        if not found:
            return outcomes
        newest = latest(found.values())
        noted = await self._erasures.note(newest.values())
        removed = await self._erasures.erase(await self._erasures.erased_at(newest))
        await self._producer.send(
            [
                Message.of(ERASURE_CONFIRMED, confirmation(one, self._service, removed), batch[index].derived_headers)
                for index, one in found.items()
            ]
        )
        return outcomes | {
            index: Outcome.STORED if one.person in noted else Outcome.UNCHANGED for index, one in found.items()
        }

    async def _repeat(self, people: Collection[Person], before: ErasedAt) -> None:
        """Erase the rows that the batch wrote about people who were erased concurrently."""
        if not people:
            return
        after = await self._erasures.erased_at(people)
        if meanwhile := {person: at for person, at in after.items() if before.get(person) != at}:
            await self._erasures.erase(meanwhile)


def _author(received: Received[Any] | Tombstone) -> Person | None:
    return author_of(received.event) if isinstance(received, Received) else None


def _is_request(received: Received[Any] | Tombstone) -> bool:
    return received.raw.coordinates.topic == ERASURE_REQUESTED.name
