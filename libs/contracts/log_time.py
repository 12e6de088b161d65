"""Correct the times of events by the log's clock, because the clocks of producers differ. No I/O.

A wrong clock must not affect the order of judgements or the data that an erasure covers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from contracts.base import Envelope
from contracts.feedback import (
    FeedbackErasureRequested,
    FeedbackExplicitReceived,
    FeedbackSessionCreated,
    FeedbackTrainingChosen,
    PersonRequest,
)
from contracts.instants import MINUTE

E = TypeVar("E", bound=Envelope)
_LOG_RESOLUTION: Final = 1_000
"""Resolution of the log time (1 ms) in microseconds."""
_OFFSETS: Final = 2**20
"""Number of consecutive offsets that are ordered within one millisecond. Sequences fit into 63 bits until 2248."""
FUTURE_LIMIT: Final = 5 * MINUTE
"""Maximum difference by which a record's occurredAt may exceed the log time, in microseconds."""
_FUTURE: Final = ("future", "occurredAt is more than five minutes ahead of the log")


def future_fault(occurred_at: int, log_time: int) -> tuple[str, str] | None:
    """Check that the time of an event is not too far ahead of the log time. Both are in microseconds.

    Returns:
        The reason and the detail of the rejection, or None if the time is valid.
    """
    return _FUTURE if occurred_at > log_time + FUTURE_LIMIT else None


def at_log_time(event: E, log_time: int, offset: int, reference_time: int | None = None) -> E:
    """Return the event with its times replaced or capped by the log's clock.

    Most types of events are returned unchanged.

    Args:
        event: The event.
        log_time: Time at which the event first appeared in the log, in microseconds.
        offset: Offset of the event's record, which orders judgements in the same millisecond.
        reference_time: Upper limit for the times of judgements, in microseconds.
    """
    rule = _BY_LOG.get(type(event))
    changes = None if rule is None else rule(event, log_time, offset, reference_time)
    return event.model_copy(update=changes) if changes else event


def _judgement(
    event: FeedbackExplicitReceived, log_time: int, offset: int, reference_time: int | None
) -> dict[str, int] | None:
    """Return the time and the sequence of a judgement, as determined by the log's clock.

    Returns None if the judgement keeps its own time. If two judgements have the same time, the later one in the log
    gets the higher sequence.
    """
    if not event.timed_by_log:
        return None
    latest = log_time if reference_time is None else min(log_time, reference_time)
    occurred_at = latest if event.given_at is None else min(event.given_at, latest)
    return {"occurred_at": occurred_at, "sequence": log_time // _LOG_RESOLUTION * _OFFSETS + offset % _OFFSETS}


def _request(_: PersonRequest, log_time: int, __: int, ___: int | None) -> dict[str, int]:
    return {"occurred_at": log_time}


def _rating(event: FeedbackSessionCreated, log_time: int, __: int, ___: int | None) -> dict[str, int] | None:
    if event.occurred_at <= log_time and event.recorded_at <= log_time:
        return None
    return {"occurred_at": min(event.occurred_at, log_time), "recorded_at": min(event.recorded_at, log_time)}


_BY_LOG: Final[Mapping[type, Callable[[Any, int, int, int | None], dict[str, int] | None]]] = {
    FeedbackExplicitReceived: _judgement,
    FeedbackErasureRequested: _request,
    FeedbackTrainingChosen: _request,
    FeedbackSessionCreated: _rating,
}
