"""Decides what a person's erasure covers. Pure, and the same in every service.

Whether a change is covered depends on when it was said and on the erasure alone, never on the order in which the two
arrive: the same changes and erasures leave the same rows in every order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from contracts.base import Envelope
from contracts.chat import ChatMessageIngested, ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.feedback import FeedbackCreated, FeedbackErasureConfirmed, FeedbackErasureRequested, FeedbackKeeper
from contracts.ids import derived_id
from contracts.instants import MINUTE
from contracts.topics import ERASURE_CONFIRMED

ERASURE_MARGIN: Final = 5 * MINUTE
"""Microseconds after an erasure up to which changes are covered too.

The log takes in an event whose occurredAt is up to this far ahead of it, so everything that lay in the log before the
erasure says a time before `erased_at + ERASURE_MARGIN`, and nothing said later than that can have been there.
"""


class Person(NamedTuple):
    """A user of a tenant, in all of its projects."""

    tenant: str
    user_id: str


ErasedAt = Mapping[Person, int]
"""When each of some people was last erased, in microseconds; those never erased are missing."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """A line of an erasure ledger: `erased_at` is in microseconds. Of a person's erasures the last one holds."""

    person: Person
    request_id: str
    erased_at: int


def erasure_of(event: FeedbackErasureRequested, log_time: int) -> Erasure:
    """Return the ledger's line for a request: erased at the log's time, or the request's own if that is later."""
    return Erasure(Person(event.tenant, event.user_id), event.request_id, max(log_time, event.occurred_at))


def latest(erasures: Iterable[Erasure]) -> dict[Person, Erasure]:
    """Return the last erasure of each person; of one moment's, the one with the greatest request id."""
    found: dict[Person, Erasure] = {}
    for erasure in erasures:
        held = found.get(erasure.person)
        if held is None or (held.erased_at, held.request_id) < (erasure.erased_at, erasure.request_id):
            found[erasure.person] = erasure
    return found


def is_erased(occurred_at: int, erased_at: int | None, log_time: int | None = None) -> bool:
    """Return whether what was said at `occurred_at` is covered by its person's erasure, if there was one.

    `log_time` is when the log first took it in, however often it was replayed since. Whatever time it says, nothing
    was said later than that and the margin.
    """
    if erased_at is None:
        return False
    said_at = occurred_at if log_time is None else min(occurred_at, log_time + ERASURE_MARGIN)
    return said_at <= erased_at + ERASURE_MARGIN


def author_of(event: Envelope | None) -> Person | None:
    """Return whose words an event holds: a person's message, reply, reaction or feedback; None for an agent's."""
    author = _AUTHORS.get(type(event))
    return None if author is None else author(event)


def _writer(event: ChatMessageIngested | ChatMessageReplyIngested) -> Person | None:
    return Person(event.tenant, event.sender_id) if event.sender_type == "human" else None


def _user(event: ChatMessageReactionIngested | FeedbackCreated) -> Person:
    return Person(event.tenant, event.user_id)


# A table, for asking a model whether it is of another class takes longer than all else that is done here.
_AUTHORS: Final[Mapping[type, Callable[[Any], Person | None]]] = {
    ChatMessageIngested: _writer,
    ChatMessageReplyIngested: _writer,
    ChatMessageReactionIngested: _user,
    FeedbackCreated: _user,
}


def confirmation(erasure: Erasure, service: FeedbackKeeper, removed: int) -> FeedbackErasureConfirmed:
    """Return the event that says that `service` has carried an erasure out; the same one however often it does."""
    return FeedbackErasureConfirmed(
        event_id=str(derived_id(ERASURE_CONFIRMED.name, erasure.person.tenant, erasure.request_id, service)),
        occurred_at=erasure.erased_at,
        tenant=erasure.person.tenant,
        user_id=erasure.person.user_id,
        request_id=erasure.request_id,
        service=service,
        removed=removed,
    )
