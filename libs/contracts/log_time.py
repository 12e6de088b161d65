"""Checks event times against the log's clock, and sets or caps some of them by it. Pure.

The clocks of processes differ, so they must not decide which of two judgements is newer or what an erasure covers.
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
"""Resolution of the log time, in microseconds. Within one millisecond, offsets order the records."""
FUTURE_LIMIT: Final = 5 * MINUTE
"""Maximum time by which a record's occurredAt may be ahead of the log time, in microseconds."""
_FUTURE: Final = ("future", "occurredAt is more than five minutes ahead of the log")


def future_fault(occurred_at: int, log_time: int) -> tuple[str, str] | None:
    """Return the reason and detail for rejecting an event whose time is too far ahead of `log_time`, else None.

    Both times are in microseconds.
    """
    return _FUTURE if occurred_at > log_time + FUTURE_LIMIT else None


def at_log_time(event: E, log_time: int, offset: int, judged_at: int | None = None) -> E:
    """Return `event` with its times set or capped by the log; most event types are returned unchanged.

    `log_time` is the time of the event's first record in the log, in microseconds. `judged_at`, if given, caps
    `log_time` for judgements and impressions, in microseconds.
    """
    said = _BY_LOG.get(type(event))
    changes = None if said is None else said(event, log_time, offset, judged_at)
    return event.model_copy(update=changes) if changes else event


def _judgement(
    event: FeedbackExplicitReceived, log_time: int, offset: int, judged_at: int | None
) -> dict[str, int] | None:
    """Return the log-based time and sequence of a judgement; at equal times, the judgement later in the log counts.

    Return None if the judgement keeps its own time.
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
