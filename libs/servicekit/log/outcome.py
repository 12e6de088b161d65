"""Outcomes of records: one closed union for metrics, logs and the file of outcomes. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from contracts.topics import Consumer


@dataclass(frozen=True, slots=True)
class Stored:
    """A visible or forwarded value has changed."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The record repeats one that was processed before."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Understood, without effect. `reason` is a short name, never user text."""

    reason: str


@dataclass(frozen=True, slots=True)
class Parked:
    """The record waits for another one that has not arrived."""

    reason: str


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """The record cannot be processed and was written to the dead letters.

    `reason` is a short name. `detail` names the invalid field and the rule, for people to read; comparisons ignore it.
    Neither contains user text.
    """

    reason: str
    detail: str = field(default="", compare=False)


Outcome = Stored | Unchanged | Ignored | Parked | DeadLettered

STORED = Stored()
UNCHANGED = Unchanged()
ERASED = Ignored("erased")
"""Outcome of a record that its author's erasure covers."""
TOMBSTONE = Ignored("tombstone")
"""The outcome of tombstones for handlers that ignore them."""


class Observation(NamedTuple):
    """The outcome of one record; `cause` has the coordinates of the chat record that it derives from (`cause_of`)."""

    group: Consumer
    topic: str
    cause: str
    outcome: Outcome


Observer = Callable[[Observation], None]


def reason_of(outcome: Outcome) -> str:
    """Return the outcome's reason, empty if it has none."""
    return "" if isinstance(outcome, Stored | Unchanged) else outcome.reason


def kind_of(outcome: Outcome) -> str:
    """Return the outcome's name in metrics and logs: stored, unchanged, ignored, parked or dead_lettered."""
    return _KINDS[type(outcome)]


_KINDS: dict[type[Outcome], str] = {
    Stored: "stored",
    Unchanged: "unchanged",
    Ignored: "ignored",
    Parked: "parked",
    DeadLettered: "dead_lettered",
}
