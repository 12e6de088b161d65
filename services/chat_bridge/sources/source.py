"""Interface of sources: chat platforms that send their events to the bridge. No I/O.

A source verifies a platform's requests, extracts the chat events, and builds the responses. `registry.py` opens the
configured sources, and `api.py` defines their route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Payload = Mapping[str, Any]
"""JSON object in a request or response body."""


class NotUnderstood(ValueError):
    """Raised if a payload differs from the platform's documentation.

    The message names the field, but never contains its value.
    """


class Dropped(NamedTuple):
    """An event of the platform that does not become a chat event. `is_refused`: it differs from the documentation."""

    reason: str
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request as it was received.

    Attributes:
        headers: Header values by lower-case name.
        now: The time of arrival in microseconds.
    """

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

    Attributes:
        verify: Returns True if the platform signed the request. If the signature covers a timestamp, the timestamp must
            be recent.
        events: Returns the chat events in a payload, each with its `topic` and without tenant and project, and the
            reasons for events that are dropped. Equal payloads give equal `eventId`s. Raises NotUnderstood.
        answer: Returns the response to a verified request, or None for the default response `{"outcome": ...}`. The
            bridge first writes the request's events to the log, and then sends the response.
        json_in: Returns the JSON in a request body, which may be a field of a form.
    """

    name: str
    tenant: str
    project: str
    verify: Callable[[SignedRequest], bool]
    events: Callable[[Payload], Sequence[Payload | Dropped]]
    answer: Callable[[Payload], SourceAnswer | None] = lambda _: None
    json_in: Callable[[bytes], bytes] = lambda body: body
