"""Handler interface: the boundary between the log and a service. No I/O.

`TopicHandlers` combines the handlers of several topics, and `ErasingHandler` adds the erasure of people's data. An
erasure is written to the service's ledger first, and only then are the rows to delete looked up. The ledger is read
before and after a batch is handled, and rows of people who were erased in between are deleted. So if an erasure and a
batch run concurrently, either the erasure finds the batch's rows, or the batch finds the erasure in the ledger.

If the handler's store guards its writes, the ledger is not read beforehand. Instead, a write fails if someone in the
batch is in the ledger, and the batch is then handled without the guard as described above. An erasure waits for guarded
writes in progress. The check is part of SQL functions with the parameters `guarded_tenant` and `guarded_user`
(`Database.call`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pydantic_core import from_json

from contracts.base import ID_LIMIT, ID_PATTERN
from contracts.erasure import ErasedAt, Erasure, Person, author_of, confirmation, erasure_of, is_erased, latest
from contracts.feedback import FeedbackErased, ServiceName
from contracts.topics import ERASURE_CONFIRMED, ERASURE_REQUESTED, Topic
from servicekit.log.outcome import ERASED, Outcome, RecordIds
from servicekit.log.records import Message, Producer, RawRecord, Received, cause_of

Conversation = tuple[str, ...]


_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ID: Final = re.compile(ID_PATTERN)


def ids_of(value: bytes | None) -> RecordIds | None:
    """Return the ids in a record's value, or None if its tenant or project is missing or invalid."""
    try:
        event = from_json(value or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not all(_fits(_NAME, event.get(name)) for name in ("tenant", "project")):
        return None
    ids = (id_in(event, name) for name in ("eventId", "conversationId", "messageId"))
    return RecordIds(event["tenant"], event["project"], *ids)


def id_in(event: Mapping[str, Any], name: str) -> str | None:
    """Return the id in a field of an event's JSON, or None if it is missing or invalid. Integers are valid ids."""
    value = event.get(name)
    if type(value) is int and value.bit_length() <= 64:
        value = str(value)
    return value if _fits(_ID, value) else None


def _fits(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and len(value) <= ID_LIMIT and pattern.fullmatch(value) is not None


@dataclass(slots=True)
class Slot:
    """Record of a batch, with its event once it is parsed and its outcome once it is known."""

    raw: RawRecord
    received: Received[Any] | None = None
    outcome: Outcome | None = None

    @property
    def topic(self) -> str:
        return self.raw.coordinates.topic

    @property
    def is_dead_letter(self) -> bool:
        return self.outcome is not None and self.outcome.kind == "dead_lettered"

    @property
    def cause(self) -> str:
        """Log position of the chat record that this record derives from."""
        return cause_of(self.raw)

    @property
    def event(self) -> Any:
        """Parsed event. Must not be called for a record that could not be parsed."""
        assert self.received is not None
        return self.received.event

    @property
    def derived_headers(self) -> list[tuple[str, bytes]]:
        """Headers for a record that a service derives from a parsed one."""
        assert self.received is not None
        return self.received.derived_headers

    @property
    def ids(self) -> RecordIds | None:
        """Ids of the record's event, even if the event is invalid (see `ids_of`)."""
        return ids_of(self.raw.value)

    @property
    def conversation(self) -> Conversation:
        """Tenant, project and conversation id of the event, or only the feedback id of an erased record."""
        event = self.event
        if isinstance(event, FeedbackErased):
            return (str(event.feedback_id),)
        return (event.tenant, getattr(event, "project", ""), getattr(event, "conversation_id", ""))


def slots_of(batch: Sequence[Received[Any]]) -> list[Slot]:
    """Return a slot for each parsed record, without its outcome."""
    return [Slot(received.raw, received) for received in batch]


def outcomes_of(slots: Sequence[Slot]) -> list[Outcome]:
    """Return the outcomes of records, which must all be known."""
    return [slot.outcome for slot in slots if slot.outcome is not None]


def set_outcomes(slots: Sequence[Slot], outcomes: Sequence[Outcome]) -> None:
    """Set one outcome per slot. Raises ValueError, and sets none, if the numbers differ."""
    for slot, outcome in [*zip(slots, outcomes, strict=True)]:
        slot.outcome = outcome


class Handler(ABC):
    """Base class for the handler of a consumer group.

    A batch contains `Received` records. With `tombstones=True`, a subclass also gets the tombstones of feedback
    records, as `FeedbackErased` events:

        class RatingHandler(Handler, tombstones=True): ...
    """

    takes_tombstones: bool = False

    def __init_subclass__(cls, *, tombstones: bool | None = None) -> None:
        super().__init_subclass__()
        if tombstones is not None:
            cls.takes_tombstones = tombstones

    @abstractmethod
    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        """Process a batch and return the outcome of each record, in the same order.

        Implementations must be idempotent: after a failure, some or all of the records are delivered again.
        """

    async def commit_lost(self, batch: Sequence[Any]) -> None:  # noqa: B027 # most handlers have nothing to repair
        """Repair the effects of a batch whose commit was rejected or came too late.

        Another consumer may have processed the same records in the meantime. The default implementation does nothing,
        which is correct if handling the records again has no effect.
        """


class TopicHandlers(Handler):
    """Handler that passes each record of a batch to the handler of its topic.

    The handlers run one after another, in the order of `topics_of`. The order of records is kept only within a handler.

    Args:
        topics_of: The topics of each handler.
    """

    def __init__(self, topics_of: Mapping[Handler, Collection[Topic]]) -> None:
        self._names_of = {handler: {topic.name for topic in topics} for handler, topics in topics_of.items()}
        self.takes_tombstones = any(handler.takes_tombstones for handler in topics_of)

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        slots = slots_of(batch)
        for handler, names in self._names_of.items():
            if own := [slot for slot in slots if slot.topic in names and slot.outcome is None]:
                set_outcomes(own, await handler.handle([slot.received for slot in own]))
        return outcomes_of(slots)

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        for handler, names in self._names_of.items():
            if own := [received for received in batch if received.topic in names]:
                await handler.commit_lost(own)


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


class Ledger(Protocol):
    """Interface to a service's ledger of erased people."""

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


class ErasingHandler(Handler):
    """Handler wrapper that carries out erasures, and keeps the data of erased people out of the store.

    Args:
        is_guarded: True if `inner` itself checks for erasures (see `guarded`). It must then do so in every write
            of people's text, and publish nothing before such a write.
    """

    def __init__(
        self,
        inner: Handler,
        ledger: Ledger,
        erase: Erase,
        producer: Producer,
        service: ServiceName,
        *,
        is_guarded: bool = False,
    ) -> None:
        self._inner = inner
        self._ledger = ledger
        self._erase = erase
        self._producer = producer
        self._service: ServiceName = service
        self._is_guarded = is_guarded
        self.takes_tombstones = inner.takes_tombstones

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        slots = slots_of(batch)
        await self._carry_out([slot for slot in slots if slot.topic == ERASURE_REQUESTED.name])
        left = [slot for slot in slots if slot.outcome is None]
        authors = {author for slot in slots if (author := author_of(slot.event)) is not None}
        if self._is_guarded and authors and left:
            with suppress(PersonErased), guarded(authors):
                set_outcomes(left, await self._inner.handle([slot.received for slot in left]))
                return outcomes_of(slots)
        before = await self._ledger.erased_at(authors) if authors else {}
        for slot in slots if before else ():
            author, raw = author_of(slot.event), slot.raw
            if author is not None and is_erased(slot.event.occurred_at, before.get(author), raw.first_log_time):
                slot.outcome = ERASED
        if left := [slot for slot in slots if slot.outcome is None]:
            set_outcomes(left, await self._inner.handle([slot.received for slot in left]))
            await self._repeat(authors, before)
        return outcomes_of(slots)

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        if left := [received for received in batch if received.topic != ERASURE_REQUESTED.name]:
            await self._inner.commit_lost(left)

    async def _carry_out(self, requests: Sequence[Slot]) -> None:
        """Carry out and confirm the requested erasures, and set the outcomes of the requests.

        Each erasure is written to the ledger first. A repeated request is carried out again.
        """
        if not requests:
            return
        erasures = [(slot, erasure_of(slot.event, slot.raw.first_log_time)) for slot in requests]
        newest = latest(erasure for _, erasure in erasures)
        noted = await self._ledger.note(newest.values())
        removed = await self._erase(await self._ledger.erased_at(newest))
        confirmations: list[Message] = []
        for slot, erasure in erasures:
            event = confirmation(erasure, self._service, removed)
            confirmations.append(Message.of(ERASURE_CONFIRMED, event, slot.derived_headers))
            slot.outcome = Outcome.STORED if erasure.person in noted else Outcome.UNCHANGED
        await self._producer.send(confirmations)

    async def _repeat(self, people: Collection[Person], before: ErasedAt) -> None:
        """Delete the rows of people who were erased while the batch was being handled."""
        if not people:
            return
        after = await self._ledger.erased_at(people)
        if meanwhile := {person: erased_at for person, erased_at in after.items() if before.get(person) != erased_at}:
            await self._erase(meanwhile)
