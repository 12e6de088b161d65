"""Ids, times and envelopes of the sample's events. Pure.

Ids depend only on names in the scripts, and times depend on the time of the first run.
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
    """Event body with its time of arrival, in microseconds since the epoch."""

    at: int
    body: dict[str, Any]


def sample_id(*name: str | int) -> str:
    """Derive an event id from the parts of a name. The same name always gives the same id."""
    return str(derived_id("sample", *name))


def envelope(*name: str | int, at: int) -> dict[str, Any]:
    """Return the fields that all events have, for the event `name` at the time `at` (microseconds)."""
    return {
        "eventId": sample_id("event", *name),
        "occurredAt": format_instant(at),
        "tenant": TENANT,
        "project": PROJECT,
    }


def arrival(topic: Topic, name: tuple[str | int, ...], at: int, body: dict[str, Any], late: int = 0) -> Arrival:
    """Build the event `name` with the time `at`. It arrives `late` microseconds after `at`."""
    return Arrival(at + late, {"topic": topic.name, **envelope(*name, at=at), **body})
