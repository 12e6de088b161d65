"""Rules for the data covered by the erasure of a person, shared by all services. No I/O.

The rules compare the time of a change with the time of the erasure, regardless of the order in which they arrive. The
same changes and erasures therefore always leave the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from contracts.base import Envelope
from contracts.chat import ChatMessageIngested, ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.feedback import (
    FeedbackCreated,
    FeedbackErasureConfirmed,
    FeedbackErasureRequested,
    FeedbackTrainingChosen,
    ServiceName,
)
from contracts.ids import derived_id
from contracts.instants import MINUTE
from contracts.posts import PostCommented, PostPublished, PostReacted
from contracts.topics import ERASURE_CONFIRMED

ERASURE_MARGIN: Final = 5 * MINUTE
"""Period after an erasure in which changes are also erased, in microseconds.

The log accepts an event if its occurredAt is at most this far ahead of the log time. Every event that was in the log
before the erasure therefore has a time of at most `erased_at + ERASURE_MARGIN`.
"""


class Person(NamedTuple):
    """A person, identified by tenant and user id. The id is valid in all projects of the tenant."""

    tenant: str
    user_id: str


ErasedAt = Mapping[Person, int]
"""Time of each person's last erasure, in microseconds. A person without an erasure is missing."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """Entry in an erasure ledger. If a person was erased more than once, the latest entry counts.

    `erased_at` is in microseconds.
    """

    person: Person
    request_id: str
    erased_at: int


class TrainingChoice(NamedTuple):
    """A person's choice about training on their data, at `chosen_at` (microseconds). The greatest of several counts."""

    person: Person
    chosen_at: int
    choice_id: str
    training_allowed: bool

    @classmethod
    def of(cls, event: FeedbackTrainingChosen) -> Self:
        person = Person(event.tenant, event.user_id)
        return cls(person, event.occurred_at, event.event_id, event.training_allowed)


def erasure_of(event: FeedbackErasureRequested, log_time: int) -> Erasure:
    """Return the ledger entry for an erasure request.

    The time of the erasure is the log time or the request's own time, whichever is later.
    """
    return Erasure(Person(event.tenant, event.user_id), event.request_id, max(log_time, event.occurred_at))


def latest(erasures: Iterable[Erasure]) -> dict[Person, Erasure]:
    """Return the latest erasure of each person.

    Among erasures at the same time, the one with the greatest request id is returned.
    """
    newest: dict[Person, Erasure] = {}
    for erasure in erasures:
        current = newest.get(erasure.person)
        if current is None or (current.erased_at, current.request_id) < (erasure.erased_at, erasure.request_id):
            newest[erasure.person] = erasure
    return newest


def is_erased(occurred_at: int, erased_at: int | None, log_time: int | None = None) -> bool:
    """Return True if a change is covered by an erasure.

    An erasure also covers changes made up to ERASURE_MARGIN after it. All times are in microseconds.

    Args:
        occurred_at: Time of the change. It is capped at `log_time + ERASURE_MARGIN`.
        erased_at: Time of the erasure, or None if there is none.
        log_time: Time at which the change first appeared in the log, which stays the same in a replay.
    """
    if erased_at is None:
        return False
    said_at = occurred_at if log_time is None else min(occurred_at, log_time + ERASURE_MARGIN)
    return said_at <= erased_at + ERASURE_MARGIN


def author_of(event: Envelope | None) -> Person | None:
    """Return the person who caused an event, such as the author of a message, or the person whom a system line names.

    Returns None for an agent's message, and for types of events that have no author.
    """
    author = _AUTHORS.get(type(event))
    return None if author is None else author(event)


def _writer(event: ChatMessageIngested | ChatMessageReplyIngested) -> Person | None:
    return None if event.sender_type == "agent" else Person(event.tenant, event.sender_id)


def _author(event: PostPublished | PostCommented) -> Person | None:
    return None if event.author_type == "agent" else Person(event.tenant, event.author_id)


def _user(event: ChatMessageReactionIngested | PostReacted | FeedbackCreated) -> Person:
    return Person(event.tenant, event.user_id)


# A table, because isinstance is slow for pydantic models.
_AUTHORS: Final[Mapping[type, Callable[[Any], Person | None]]] = {
    ChatMessageIngested: _writer,
    ChatMessageReplyIngested: _writer,
    ChatMessageReactionIngested: _user,
    PostPublished: _author,
    PostCommented: _author,
    PostReacted: _user,
    FeedbackCreated: _user,
}


def confirmation(erasure: Erasure, service: ServiceName, removed: int) -> FeedbackErasureConfirmed:
    """Build the event with which a service confirms an erasure.

    If the same request is confirmed again, the event has the same id.

    Args:
        erasure: The erasure.
        service: The service that has erased its data.
        removed: The number of rows that it changed or deleted.
    """
    return FeedbackErasureConfirmed(
        event_id=str(derived_id(ERASURE_CONFIRMED.name, erasure.person.tenant, erasure.request_id, service)),
        occurred_at=erasure.erased_at,
        tenant=erasure.person.tenant,
        user_id=erasure.person.user_id,
        request_id=erasure.request_id,
        service=service,
        removed=removed,
    )
