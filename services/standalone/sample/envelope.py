"""Ids, times and common fields of the sample's events. No I/O.

Ids depend only on names in the scripts, and times on the time of the first run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contracts.ids import derived_id
from contracts.instants import format_instant
from contracts.topics import Topic

TENANT, PROJECT = "demo", "support"


@dataclass(frozen=True, slots=True)
class Arrival:
    """The body of an event with its time of arrival in microseconds since 1970."""

    at: int
    body: dict[str, Any]


def sample_id(*name: str | int) -> str:
    """Derive an event id from the parts of a name. The same name always gives the same id."""
    return str(derived_id("sample", *name))


def envelope(*name: str | int, at: int) -> dict[str, Any]:
    """Return the fields common to all events. The id is derived from `name`, and `at` is in microseconds."""
    return {
        "eventId": sample_id("event", *name),
        "occurredAt": format_instant(at),
        "tenant": TENANT,
        "project": PROJECT,
    }


def arrival(topic: Topic, name: tuple[str | int, ...], at: int, body: dict[str, Any], late: int = 0) -> Arrival:
    """Build an event that happens at `at` and arrives `late` microseconds after that.

    The id is derived from `name`.
    """
    return Arrival(at + late, {"topic": topic.name, **envelope(*name, at=at), **body})
