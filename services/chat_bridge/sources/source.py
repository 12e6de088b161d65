"""Port of platforms that post their own events. A source verifies requests, parses chat events and builds responses.

Pure. `registry.py` lists the source kinds; `api.py` has their route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from servicekit import Settings

Payload = Mapping[str, Any]
"""JSON object in a request or response body."""


class NotUnderstood(ValueError):
    """A payload differs from the platform's documentation. The message names the missing part, never its content."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """Request as received. `headers` are keyed by lower-case name; `now` is in microseconds."""

    headers: Mapping[str, str]
    body: bytes
    now: int


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """Response that a platform expects. If `body` is None, the response is empty."""

    status: int = 200
    body: Payload | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A configured platform: tenant, project, and three pure functions.

    `verify` returns True for a request that the platform signed within its time window. `events` returns a payload's
    chat events, each with its `topic`. Equal payloads give equal `eventId`s. It raises NotUnderstood. `answer` returns
    the response to a verified request whose events are in the log; None means the default `{"outcome": ...}`.
    """

    name: str
    tenant: str
    project: str
    verify: Callable[[SignedRequest], bool]
    events: Callable[[Payload], Sequence[Payload]]
    answer: Callable[[Payload], SourceAnswer | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class SourceKind:
    """Row of the registry: a route, its settings, and the sources that they configure.

    If the route serves several sources, `path` has the parameter `{source:segment}`. Otherwise, its only source is
    `name`. `settings` is a mixin of the bridge's settings. `open` returns the configured sources by name, or raises
    StartError. `summary` describes the route in one sentence without a full stop.
    """

    name: str
    path: str
    summary: str
    settings: type[Settings]
    open: Callable[[Any], Mapping[str, Source]]
