"""Port of platforms that post their own events: a source verifies a request, parses its chat events and responds.

Pure. `registry.py` lists the kinds of sources, `api.py` has their route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from servicekit import Settings

Payload = Mapping[str, Any]
"""The JSON object of a request."""


class NotUnderstood(ValueError):
    """A payload differs from the platform's documentation. The message names the missing part, never its content."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """Request as received: `headers` by lower-case name, the raw `body`, `now` in microseconds."""

    headers: Mapping[str, str]
    body: bytes
    now: int


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """Response that a platform expects. It is empty if `body` is None."""

    status: int = 200
    body: Payload | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Configured platform: its tenant and project, and three pure functions.

    `verify` returns True for a request that the platform signed, within its time window. `events` returns the chat
    events of a payload, each with its `topic` and with the same `eventId` for the same payload; it raises
    NotUnderstood. `answer` returns the response to a verified request whose events are in the log, or None for the
    default `{"outcome": ...}`.
    """

    name: str
    tenant: str
    project: str
    verify: Callable[[SignedRequest], bool]
    events: Callable[[Payload], Sequence[Payload]]
    answer: Callable[[Payload], SourceAnswer | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class SourceKind:
    """Row of the registry: one route, its settings, and the sources that they configure.

    `path` has the parameter `{source:segment}` if the route serves several sources; otherwise its only source is
    `name`. `settings` is a mixin of the bridge's settings. `open` returns the configured sources by name; it raises
    StartError. `summary` describes the route in one sentence without a full stop.
    """

    name: str
    path: str
    summary: str
    settings: type[Settings]
    open: Callable[[Any], Mapping[str, Source]]
