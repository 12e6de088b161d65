"""Requests of the API calls, and checks of the responses. This module sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

from agent_feedback_kit.client.validation import first_mismatch
from agent_feedback_kit.errors import UnexpectedAnswer
from agent_feedback_kit.json_text import json_bytes, replace_surrogates

T = TypeVar("T")
JSON = "application/json"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Request:
    """HTTP request to the service. `lines` is the number of events in its body."""

    method: str
    path: str
    body: bytes | None = field(default=None, repr=False)
    media_type: str = JSON
    query: Mapping[str, str] = field(default_factory=dict)
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """An API call.

    Attributes:
        requests: The HTTP requests, in sending order.
        read: Function that converts the JSON responses, one per request, to the result.
    """

    requests: Sequence[Request]
    read: Callable[[Sequence[Any]], T]


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """The tenant and the project that calls refer to."""

    tenant: str
    project: str

    def path(self, *parts: str) -> str:
        """Return the path `/conversations/{tenant}/{project}/...` with percent-encoded parts.

        Slashes within a part are also encoded.
        """
        return "/conversations/" + "/".join(map(quoted, (self.tenant, self.project, *parts)))


def given_fields(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def quoted(part: str) -> str:
    """Percent-encode a part of a path, including its slashes."""
    return quote(replace_surrogates(part), safe="")


def single(
    method: str,
    path: str,
    body: Mapping[str, Any] | None,
    answer: type[T],
    *,
    query: Mapping[str, str] | None = None,
) -> Call[T]:
    """Return a call with a single request, whose response must be a JSON object of the type `answer`."""
    parameters = {name: replace_surrogates(value) for name, value in (query or {}).items()}
    request = Request(method, path, None if body is None else json_bytes(body), query=parameters)
    return Call([request], lambda answers: checked(answers[0], answer, request))


def checked(value: Any, expected: type[T], request: Request) -> T:
    """Return a response if it has the expected type.

    Raises:
        UnexpectedAnswer: The response has a different type. The error names the invalid field, but not its value.
    """
    if (mismatch := first_mismatch(value, expected)) is not None:
        call = f"{request.method} /{request.path.split('/')[1]}"
        raise UnexpectedAnswer(f"the response to {call} is not one of this API (see {mismatch})")
    return cast(T, value)
