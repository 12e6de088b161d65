"""Interface of sources. A source verifies a platform's requests, parses chat events and builds responses. Pure.

`registry.py` lists the kinds of sources; `api.py` has their route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from servicekit import Settings

Payload = Mapping[str, Any]
"""JSON object in a request or response body."""


class NotUnderstood(ValueError):
    """The payload differs from the platform's documentation. The message names the field, never its content."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """Request as it was received. `headers` has lower-case names; `now` is in microseconds."""

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
    """A configured platform: its tenant, its project and three pure functions.

    - `verify` returns True if the platform signed the request within its time window.
    - `events` returns the chat events of a payload, each with its `topic`. Equal payloads give equal `eventId`s. Raises
      NotUnderstood.
    - `answer` returns the response to a verified request with events that are in the log; None for the default response
      `{"outcome": ...}`.
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

    If the route serves several sources, `path` has the parameter `{source:segment}`. Otherwise `name` is the name of
    its only source. `settings` is a mixin of the bridge's settings. `open` returns the configured sources by name, or
    raises StartError. `summary` describes the route in one sentence without a full stop.
    """

    name: str
    path: str
    summary: str
    settings: type[Settings]
    open: Callable[[Any], Mapping[str, Source]]
