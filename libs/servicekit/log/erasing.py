"""Handler wrapper that erases people's data and keeps concurrent batches from storing it again.

An erasure is written to the ledger first, and only then are the rows to delete looked up. The ledger is read before and
after a batch is handled, and rows of people who were erased in between are deleted. So if an erasure and a batch run
concurrently, either the erasure finds the batch's rows, or the batch finds the erasure in the ledger.

If the handler's store guards its writes, the ledger is not read beforehand. Instead, a write fails if someone in the
batch is in the ledger, and the batch is then handled without the guard as described above. An erasure waits for guarded
writes in progress.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from contracts.erasure import ErasedAt, Erasure, Person, author_of, confirmation, erasure_of, is_erased, latest
from contracts.feedback import FeedbackKeeper
from contracts.topics import ERASURE_CONFIRMED, ERASURE_REQUESTED
from servicekit.erasure_guard import PersonErased, guarded
from servicekit.log.handler import Handler
from servicekit.log.messages import Message, Producer
from servicekit.log.outcome import ERASED, Outcome
from servicekit.log.records import Received


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
        is_guarded: True if `inner` itself checks for erasures (`erasure_guard.py`). It must then do so in every write
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
            others = [index for index in range(len(batch)) if index not in outcomes]
            with contextlib.suppress(PersonErased), guarded(people):
                handled = await self._inner.handle([batch[index] for index in others])
                outcomes |= zip(others, handled, strict=True)
                return [outcomes[index] for index in range(len(batch))]
        before = await self._erasures.erased_at(people) if people else {}
        for index, author in enumerate(authors) if before else ():
            if author is not None and is_erased(
                batch[index].event.occurred_at, before.get(author), batch[index].first_log_time
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


def _is_request(received: Received[Any]) -> bool:
    return received.topic == ERASURE_REQUESTED.name
