"""Rules for the data that the erasure of a person covers, the same in every service. Pure.

An erasure covers a change by the times of both, not by their order of arrival. The same changes and erasures therefore
leave the same rows in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from contracts.base import Envelope
from contracts.chat import ChatMessageIngested, ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.feedback import (
    FeedbackCreated,
    FeedbackErasureConfirmed,
    FeedbackErasureRequested,
    FeedbackImpressionsReceived,
    FeedbackKeeper,
    FeedbackResolved,
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
    """User of a tenant, with the same user id in all of its projects."""

    tenant: str
    user_id: str


ErasedAt = Mapping[Person, int]
"""Time of each person's last erasure, in microseconds. A person without an erasure is missing."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """Entry of an erasure ledger. `erased_at` is in microseconds. If a person has several, the latest counts."""

    person: Person
    request_id: str
    erased_at: int


def erasure_of(event: FeedbackErasureRequested, log_time: int) -> Erasure:
    """Return the ledger entry for a request.

    Its time is the log time or the request's own time, whichever is later.
    """
    return Erasure(Person(event.tenant, event.user_id), event.request_id, max(log_time, event.occurred_at))


def latest(erasures: Iterable[Erasure]) -> dict[Person, Erasure]:
    """Return each person's latest erasure; the greatest request id breaks ties."""
    found: dict[Person, Erasure] = {}
    for erasure in erasures:
        held = found.get(erasure.person)
        if held is None or (held.erased_at, held.request_id) < (erasure.erased_at, erasure.request_id):
            found[erasure.person] = erasure
    return found


def is_erased(occurred_at: int, erased_at: int | None, log_time: int | None = None) -> bool:
    """Return True if an erasure at `erased_at` (None: there is none) covers a change at `occurred_at`.

    `log_time` is the time of the change's first record in the log; replays do not change it. If `occurred_at` is later
    than `log_time + ERASURE_MARGIN`, this sum replaces it. All times are in microseconds.
    """
    if erased_at is None:
        return False
    said_at = occurred_at if log_time is None else min(occurred_at, log_time + ERASURE_MARGIN)
    return said_at <= erased_at + ERASURE_MARGIN


def author_of(event: Envelope | None) -> Person | None:
    """Return the person who wrote or caused an event, such as a message, a reaction or impressions.

    Return None for a message of an agent, and for types of events that have no author.
    """
    author = _AUTHORS.get(type(event))
    return None if author is None else author(event)


def said_at(event: Envelope) -> int:
    """Return the time of the person's statement that an event reports, in microseconds.

    It is the event's time, except for `FeedbackResolved`, which reports the person's last rejection.
    """
    return event.rejected_at if isinstance(event, FeedbackResolved) else event.occurred_at


def _writer(event: ChatMessageIngested | ChatMessageReplyIngested) -> Person | None:
    return Person(event.tenant, event.sender_id) if event.sender_type == "human" else None


def _author(event: PostPublished | PostCommented) -> Person | None:
    return Person(event.tenant, event.author_id) if event.author_type == "human" else None


def _user(
    event: ChatMessageReactionIngested | PostReacted | FeedbackCreated | FeedbackImpressionsReceived | FeedbackResolved,
) -> Person:
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
    FeedbackImpressionsReceived: _user,
    FeedbackResolved: _user,
}


def confirmation(erasure: Erasure, service: FeedbackKeeper, removed: int) -> FeedbackErasureConfirmed:
    """Return the event that confirms an erasure by `service`. `removed` is the number of changed or deleted rows.

    Confirming the same request again gives the same event id.
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
