"""What a question is about: a project of a tenant, a conversation, a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from contracts.base import Origin
from contracts.instants import DAY, MINUTE


class Project(NamedTuple):
    tenant: str
    project: str


class Conversation(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


class Span(NamedTuple):
    """Microseconds since the epoch: from `start` on, up to but without `end`."""

    start: int
    end: int


Bucket = Literal["hour", "day", "week"]
"""The steps of a figure over time, in UTC."""
WIDTHS: Final[dict[Bucket, int]] = {"hour": 60 * MINUTE, "day": DAY, "week": 7 * DAY}
SHIFTS: Final[dict[Bucket, int]] = {"hour": 0, "day": 0, "week": 4 * DAY}
"""Where the first bucket after the epoch begins: weeks begin on Monday, and the epoch was a Thursday."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows the figures; None lets everything through."""

    agent_id: str | None = None
    agent_version: str | None = None
    origin: Origin | None = None
