"""Decides when an event happened if its producer cannot say: when the log took it in. Pure.

Processes' clocks differ, so none of them decides which of two judgements is the later one, or what an erasure covers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from contracts.base import Envelope
from contracts.feedback import FeedbackErasureRequested, FeedbackExplicitReceived, FeedbackSessionCreated

E = TypeVar("E", bound=Envelope)
_SAME_MOMENT: Final = 1_000
"""A log's time has milliseconds: offsets tell the records of one millisecond apart."""


def at_log_time(event: E, log_time: int, offset: int, judged_at: int | None = None) -> E:
    """Return `event` as it counts at its place in the log; most events are returned as they are.

    `log_time` is when the log first took it in, `judged_at` what replaces a later one for judgements; in microseconds.
    """
    said = _BY_LOG.get(type(event))
    changes = None if said is None else said(event, log_time, offset, judged_at)
    return event.model_copy(update=changes) if changes else event


def _judgement(
    event: FeedbackExplicitReceived, log_time: int, offset: int, judged_at: int | None
) -> dict[str, int] | None:
    """Of two judgements of one moment the one that came in later holds."""
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


_BY_LOG: Final[Mapping[type, Callable[[Any, int, int, int | None], dict[str, int] | None]]] = {
    FeedbackExplicitReceived: _judgement,
    FeedbackErasureRequested: _erasure,
    FeedbackSessionCreated: _rating,
}
