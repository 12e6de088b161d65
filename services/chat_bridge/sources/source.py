"""The port of platforms that post their own events: a source verifies a request, reads its chat events and answers it.

Pure. `registry.py` lists the kinds of sources, `api.py` has their route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from servicekit.settings import Settings

Payload = Mapping[str, Any]
"""The JSON object of a request."""


class NotUnderstood(ValueError):
    """A payload differs from its platform's documentation. The message names the missing part, never its content."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request as it was received: `headers` by lower-case name, the raw `body`, `now` in microseconds."""

    headers: Mapping[str, str]
    body: bytes
    now: int


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """The response that a platform expects. Without a `body` it is empty."""

    status: int = 200
    body: Payload | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A platform that is set up: its tenant and project, and three pure functions.

    `verify` returns True for a request that the platform signed, within its time window. `events` returns the chat
    events of a payload, each with its `topic` and with the same `eventId` for the same payload; it raises
    NotUnderstood. `answer` returns the response to a verified request whose events are in the log, or None for the
    usual `{"outcome": ...}`.
    """

    name: str
    tenant: str
    project: str
    verify: Callable[[SignedRequest], bool]
    events: Callable[[Payload], Sequence[Payload]]
    answer: Callable[[Payload], SourceAnswer | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A row of the registry: one route, the settings behind it, and the sources that they set up.

    `path` has the parameter `{source:segment}` if the route serves several sources, else the one source is `name`.
    `settings` is a mixin of the bridge's settings. `open` returns the sources by name, none if nothing is set; it
    raises StartError. `summary` describes the route in one sentence without a full stop.
    """

    name: str
    path: str
    summary: str
    settings: type[Settings]
    open: Callable[[Any], Mapping[str, Source]]
