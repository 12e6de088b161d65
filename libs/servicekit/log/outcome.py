"""Outcomes of records: one closed union for metrics, logs and the file of outcomes. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from contracts.topics import Consumer


@dataclass(frozen=True, slots=True)
class Stored:
    """It took effect: something that is shown or forwarded changed."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """It repeats something already taken in."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Understood, without effect. `reason` is a short name, never user text."""

    reason: str


@dataclass(frozen=True, slots=True)
class Parked:
    """It waits for something that has not arrived."""

    reason: str


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """It cannot be used and was set aside.

    `reason` is a short name, `detail` names a field that breaks a rule, and which; neither holds user text. The detail
    is for people to read: it takes no part in comparing.
    """

    reason: str
    detail: str = field(default="", compare=False)


Outcome = Stored | Unchanged | Ignored | Parked | DeadLettered

STORED = Stored()
UNCHANGED = Unchanged()
ERASED = Ignored("erased")
"""Its words are covered by their author's erasure."""
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
    """The outcome's reason, empty where it has none."""
    return "" if isinstance(outcome, Stored | Unchanged) else outcome.reason


def kind_of(outcome: Outcome) -> str:
    """The outcome's name in metrics and logs: stored, unchanged, ignored, parked or dead_lettered."""
    return _KINDS[type(outcome)]


_KINDS: dict[type[Outcome], str] = {
    Stored: "stored",
    Unchanged: "unchanged",
    Ignored: "ignored",
    Parked: "parked",
    DeadLettered: "dead_lettered",
}
