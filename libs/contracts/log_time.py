"""Comparison of event times with the log's clock, which replaces or limits some of them. Pure.

The clocks of producers differ. They must not decide which of two judgements is newer, or which data an erasure covers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from contracts.base import Envelope
from contracts.feedback import (
    FeedbackErasureRequested,
    FeedbackExplicitReceived,
    FeedbackImpressionsReceived,
    FeedbackSessionCreated,
)
from contracts.instants import MINUTE

E = TypeVar("E", bound=Envelope)
_SAME_MOMENT: Final = 1_000
"""Resolution of the log time (1 ms) in microseconds. Records of the same millisecond are ordered by offset."""
FUTURE_LIMIT: Final = 5 * MINUTE
"""Maximum difference by which a record's occurredAt may exceed the log time, in microseconds."""
_FUTURE: Final = ("future", "occurredAt is more than five minutes ahead of the log")


def future_fault(occurred_at: int, log_time: int) -> tuple[str, str] | None:
    """Return the reason and detail for rejecting an event with a time too far ahead of `log_time`, otherwise None.

    Both times are in microseconds.
    """
    return _FUTURE if occurred_at > log_time + FUTURE_LIMIT else None


def at_log_time(event: E, log_time: int, offset: int, judged_at: int | None = None) -> E:
    """Return `event` with times that the log's clock replaces or limits. Most types of events are returned unchanged.

    `log_time` is the time of the event's first record in the log, in microseconds. `judged_at`, if given, is an upper
    limit of `log_time` for judgements and impressions, in microseconds.
    """
    said = _BY_LOG.get(type(event))
    changes = None if said is None else said(event, log_time, offset, judged_at)
    return event.model_copy(update=changes) if changes else event


def _judgement(
    event: FeedbackExplicitReceived, log_time: int, offset: int, judged_at: int | None
) -> dict[str, int] | None:
    """Return the time and sequence of a judgement by the log's clock, or None if the judgement keeps its own time.

    Of two judgements with the same time, the one later in the log has the greater sequence.
    """
    if not event.timed_by_log:
        return None
    latest = log_time if judged_at is None else min(log_time, judged_at)
    occurred_at = latest if event.given_at is None else min(event.given_at, latest)
    return {"occurred_at": occurred_at, "sequence": log_time + offset % _SAME_MOMENT}


def _erasure(_: FeedbackErasureRequested, log_time: int, __: int, ___: int | None) -> dict[str, int]:
    return {"occurred_at": log_time}


def _rating(event: FeedbackSessionCreated, log_time: int, __: int, ___: int | None) -> dict[str, int] | None:
    if event.occurred_at <= log_time and event.recorded_at <= log_time:
        return None
    return {"occurred_at": min(event.occurred_at, log_time), "recorded_at": min(event.recorded_at, log_time)}


def _impressions(
    event: FeedbackImpressionsReceived, log_time: int, _: int, judged_at: int | None
) -> dict[str, int] | None:
    latest = log_time if judged_at is None else min(log_time, judged_at)
    return {"occurred_at": latest} if event.occurred_at > latest else None


_BY_LOG: Final[Mapping[type, Callable[[Any, int, int, int | None], dict[str, int] | None]]] = {
    FeedbackExplicitReceived: _judgement,
    FeedbackErasureRequested: _erasure,
    FeedbackSessionCreated: _rating,
    FeedbackImpressionsReceived: _impressions,
}
