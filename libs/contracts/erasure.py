"""Rules for what a person's erasure covers, the same in every service. Pure.

An erasure covers a change depending only on the times of both, not on their order of arrival. So the same changes and
erasures leave the same rows in every order.
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

The log accepts events whose occurredAt is at most this far ahead of the log time. So every event that was in the log
before the erasure has a time before `erased_at + ERASURE_MARGIN`.
"""


class Person(NamedTuple):
    """User of a tenant, in all of its projects."""

    tenant: str
    user_id: str


ErasedAt = Mapping[Person, int]
"""Time of each person's last erasure, in microseconds; people who were never erased are missing."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """Entry of an erasure ledger; `erased_at` is in microseconds. A person's latest erasure counts."""

    person: Person
    request_id: str
    erased_at: int


def erasure_of(event: FeedbackErasureRequested, log_time: int) -> Erasure:
    """Return the ledger entry for a request, erased at the later of the log time and the request's own time."""
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
    """Return True if the erasure at `erased_at` (None: never) covers a change at `occurred_at`.

    `log_time` is the time of the change's first record in the log, before any replays. The change counts as at most
    ERASURE_MARGIN later than `log_time`, whatever its own time is. All times are in microseconds.
    """
    if erased_at is None:
        return False
    said_at = occurred_at if log_time is None else min(occurred_at, log_time + ERASURE_MARGIN)
    return said_at <= erased_at + ERASURE_MARGIN


def author_of(event: Envelope | None) -> Person | None:
    """Return who wrote an event's message, reply, reaction, feedback or impressions; None for an agent's message."""
    author = _AUTHORS.get(type(event))
    return None if author is None else author(event)


def said_at(event: Envelope) -> int:
    """Return the time of the person's statement that an event reports, in microseconds.

    A `FeedbackResolved` event reports the person's last rejection.
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


# A table, because isinstance on pydantic models takes longer than everything else here.
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
    """Return the event that confirms an erasure by `service`. A repeated confirmation has the same event id."""
    return FeedbackErasureConfirmed(
        event_id=str(derived_id(ERASURE_CONFIRMED.name, erasure.person.tenant, erasure.request_id, service)),
        occurred_at=erasure.erased_at,
        tenant=erasure.person.tenant,
        user_id=erasure.person.user_id,
        request_id=erasure.request_id,
        service=service,
        removed=removed,
    )
