"""What a person's erasure leaves of what they said. Pure.

Whether a word is forgotten depends on when it was said and on the erasure alone, never on the order in which the two
arrive: the same words and erasures leave the same records in every order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from contracts.feedback import FeedbackErasureRequested
from feedback.model import Person, Record
from servicekit.outcome import Ignored
from servicekit.records import FUTURE_LIMIT, Received

ERASED = Ignored("erased")
MARGIN = FUTURE_LIMIT
"""Microseconds after an erasure up to which words are forgotten too.

The log takes in an event whose occurredAt is up to this far ahead of it, so everything that lay in the log before the
erasure says a time before `erased_at + MARGIN`, and nothing said later than that can have been there.
"""

ErasedAt = Mapping[Person, int]
"""When each of some people was last forgotten; those never forgotten are missing."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """A line of the ledger: `erased_at` is in microseconds. Of a person's erasures the last one holds."""

    person: Person
    request_id: str
    erased_at: int


def erasure_of(received: Received[FeedbackErasureRequested]) -> Erasure:
    """The ledger's line for a request: forgotten at the log's time, or the request's own if that is later."""
    event = received.event
    return Erasure(Person(event.tenant, event.user_id), event.request_id, max(received.log_time, event.occurred_at))


def latest(erasures: Iterable[Erasure]) -> dict[Person, Erasure]:
    """The last erasure of each person; of one moment's, the one with the greatest request id."""
    found: dict[Person, Erasure] = {}
    for erasure in erasures:
        held = found.get(erasure.person)
        if held is None or (held.erased_at, held.request_id) < (erasure.erased_at, erasure.request_id):
            found[erasure.person] = erasure
    return found


def is_erased(occurred_at: int, erased_at: int | None) -> bool:
    """Whether a word said at `occurred_at` is forgotten by its person's erasure, if there was one."""
    return erased_at is not None and occurred_at <= erased_at + MARGIN


def forget(record: Record, erased_at: int | None) -> Record:
    """The record without the words that the erasure covers, a stub where none is left.

    The very same object where there is nothing to forget.
    """
    kept = {slot: entry for slot, entry in record.slots.items() if not is_erased(entry.stamp.occurred_at, erased_at)}
    return record if len(kept) == len(record.slots) else replace(record, slots=kept)
