"""Definitions of the API calls, which build the requests and parse the responses. This module sends nothing.

A `Call` consists of the requests, in sending order, and a function that combines their responses. All calls are
idempotent, so they can be retried: a repeated judgement overwrites the previous one, events have ids, and a session is
ended with an idempotency key. All other calls only read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, Unpack, cast
from urllib.parse import quote
from uuid import uuid4

from agent_feedback_kit.answers import (
    AcceptedFeedbackJson,
    DetectedJson,
    EndedSessionJson,
    ExportKind,
    FilterArguments,
    IngestedJson,
    Label,
    LatestJson,
    MemoryStatusJson,
    OwnFeedbackJson,
    Period,
    PreviousAnswer,
    Reaction,
    RefusedLineJson,
    SearchPage,
    Strategies,
)
from agent_feedback_kit.client.validation import first_mismatch
from agent_feedback_kit.errors import UnexpectedAnswer
from agent_feedback_kit.json_text import json_bytes, replace_surrogates
from agent_feedback_kit.sessions.record import Source

T = TypeVar("T")
INGEST_BYTES = 4 * 1024 * 1024
INGEST_LINES = 10_000
_TEXT_LIMIT = 10_000
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
        return "/conversations/" + "/".join(map(_quoted, (self.tenant, self.project, *parts)))


def submit_feedback(
    project: ProjectPlace,
    conversation_id: str,
    turn_id: str,
    reaction: Reaction | None,
    *,
    text: str | None = None,
    tags: Sequence[str] = (),
    correction: str | None = None,
    ts: str | None = None,
    user_id: str | None = None,
) -> Call[AcceptedFeedbackJson]:
    """Judge a turn as `ok`, `not_ok` or `neutral`, or retract the judgement with None.

    A later judgement replaces an earlier one. `ts` is an RFC 3339 time and defaults to the current time. Use `user_id`
    to judge on behalf of another person, which requires the scope `on_behalf`.
    """
    body = _given(text=text, tags=list(tags) or None, correction=correction, ts=ts, user_id=user_id)
    path = project.path(conversation_id, "turns", turn_id, "feedback")
    return _one("POST", path, {"reaction": reaction} | body, AcceptedFeedbackJson)


def submit_rating(
    project: ProjectPlace,
    conversation_id: str,
    turn_id: str,
    rating: int | None,
    scale: int,
    *,
    text: str | None = None,
    ts: str | None = None,
    user_id: str | None = None,
) -> Call[AcceptedFeedbackJson]:
    """Rate an answer from 1 to `scale`, which counts as a judgement, or retract the rating with None."""
    body = {"rating": rating, "scale": scale} | _given(text=text, ts=ts, user_id=user_id)
    return _one("POST", project.path(conversation_id, "turns", turn_id, "feedback"), body, AcceptedFeedbackJson)


def clear_feedback(
    project: ProjectPlace, conversation_id: str, turn_id: str, *, ts: str | None = None, user_id: str | None = None
) -> Call[AcceptedFeedbackJson]:
    """Retract the judgement of a turn, including its text. Has no effect if there is no judgement."""
    return submit_feedback(project, conversation_id, turn_id, None, ts=ts, user_id=user_id)


def own_feedback(
    project: ProjectPlace, conversation_id: str, turn_id: str, *, user_id: str | None = None
) -> Call[OwnFeedbackJson]:
    """Return a person's feedback on a turn.

    By default, this is the person that the token belongs to. Use `user_id` for another person, which requires the scope
    `on_behalf`.
    """
    path = project.path(conversation_id, "turns", turn_id, "feedback")
    return _one("GET", path, None, OwnFeedbackJson, query=_given(user_id=user_id))


def ingest(project: ProjectPlace, events: Iterable[Mapping[str, Any]]) -> Call[IngestedJson]:
    """Send chat events in order. The module `agent_feedback_kit.events` creates such events.

    The events are sent in requests of at most 10,000 events and 4 MiB. Each event needs an `eventId`, so that a retried
    request is recognised as a duplicate. Raises ValueError if an event has none.
    """
    requests: list[Request] = []
    lines: list[bytes] = []
    size = 0
    path = f"/ingest/{_quoted(project.tenant)}/{_quoted(project.project)}/events"

    def close() -> None:
        nonlocal size
        if lines:
            requests.append(Request("POST", path, b"\n".join(lines), NDJSON, lines=len(lines)))
        lines.clear()
        size = 0

    for event in events:
        if not event.get("eventId"):
            raise ValueError("an event without an eventId could be counted twice: use agent_feedback_kit.events")
        line = json_bytes(event)
        if lines and (size + len(line) > INGEST_BYTES or len(lines) == INGEST_LINES):
            close()
        lines.append(line)
        size += len(line) + 1
    close()
    return Call(requests, lambda answers: _ingested(requests, answers))


def end_session(
    project: ProjectPlace,
    thread_id: str,
    feedback: Label | None = None,
    *,
    user_id: str | None = None,
    memory_mode: str | None = None,
    idempotency_key: str | None = None,
    source: Source | None = None,
) -> Call[EndedSessionJson]:
    """End a session, optionally with a rating. The response does not show if the rating was stored.

    `source` is the interface in which the rating was given, by default `api_end`.
    """
    key = idempotency_key or str(uuid4())
    fields = _given(user_id=user_id, memory_mode=memory_mode, idempotency_key=key if feedback else None, source=source)
    body = {"feedback": feedback, "tenant": project.tenant, "project": project.project} | fields
    path = f"/api/threads/{_quoted(thread_id)}/end"
    return _one("POST", path, body, EndedSessionJson)


def memory_status(project: ProjectPlace, thread_id: str) -> Call[MemoryStatusJson]:
    """Return the number of ratings stored for a session."""
    query = {"thread_id": thread_id, "tenant": project.tenant}
    return _one("GET", "/api/memory/status", None, MemoryStatusJson, query=query)


def detect(
    project: ProjectPlace,
    conversation_id: str,
    text: str,
    *,
    turn_id: str | None = None,
    message_id: str | None = None,
    user_id: str | None = None,
    ts: str | None = None,
    look_back: str | None = None,
    reply_to_message_id: str | None = None,
    thread_id: str | None = None,
    previous: PreviousAnswer | None = None,
    wait_seconds: float | None = None,
    strategies: int | None = None,
    intent: str | None = None,
    agent_id: str | None = None,
) -> Call[DetectedJson]:
    """Judge the previous answer by a new message and return the verdict. Nothing is published.

    `user_id` is the author of the message, by default the person that the token belongs to. `reply_to_message_id` is
    the message that it replies to, and `thread_id` is its thread. Both help to find the right answer if a conversation
    has several participants.

    With `previous`, the previous answer, the platform responds immediately. Without it, the platform first waits for
    the log to be indexed, for at most two seconds or `wait_seconds`, whichever is less.

    `strategies` is the maximum number of strategies to return, by default 0. Only strategies with positive feedback on
    similar questions are returned. They are limited to the agent `agent_id`, by default that of the previous answer,
    and to `intent` if given.
    """
    place_in = _given(reply_to_message_id=reply_to_message_id, thread_id=thread_id, previous=_within_limits(previous))
    fields = _given(text=text, turn_id=turn_id, message_id=message_id, user_id=user_id, ts=ts, look_back=look_back)
    request = _given(wait_seconds=wait_seconds, strategies=strategies, intent=intent, agent_id=agent_id)
    body = {**fields, **place_in, **request}
    return _one("POST", project.path(conversation_id, "detect"), body, DetectedJson)


def _within_limits(previous: PreviousAnswer | None) -> dict[str, Any] | None:
    """Truncate the texts of the previous answer to the length that the platform accepts."""
    if previous is None:
        return None
    texts = ("content", "question")
    return {name: str(value)[:_TEXT_LIMIT] if name in texts else value for name, value in previous.items()}


def latest(
    project: ProjectPlace,
    conversation_id: str,
    *,
    turn_ids: Sequence[str] | None = None,
    since: str | None = None,
    watermark: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[LatestJson]:
    """Return the latest reaction on each turn, or only those that have changed.

    Pass a time as `since` to get the changes after it. Pass the watermark of an earlier response as `watermark` to get
    the changes that are not in that response. Follow `next_cursor` until it is None. The last page contains the
    watermark for the next query.
    """
    narrowed = _given(since=since, watermark=watermark, limit=limit, cursor=cursor)
    body = {"turn_ids": None if turn_ids is None else list(turn_ids)} | narrowed
    return _one("POST", project.path(conversation_id, "feedback", "latest"), body, LatestJson)


def search_strategies(
    project: ProjectPlace,
    *,
    text: str | None = None,
    intent: str | None = None,
    user_id: str | None = None,
    agent_id: str | None = None,
    limit: int = 10,
) -> Call[Strategies]:
    """Search for successful strategies.

    The results can be filtered by intent, person and agent. Use `text` to find strategies for similar questions.
    """
    body = _given(text=text, intent=intent, user_id=user_id, agent_id=agent_id, limit=limit)
    return _one("POST", project.path("strategies", "search"), body, Strategies)


def period(
    project: ProjectPlace,
    start: str,
    end: str,
    *,
    include_turns: bool = False,
    limit: int = 100,
    cursor: str | None = None,
) -> Call[Period]:
    """List the conversations that have feedback in a time window, newest first.

    Follow `next_cursor` until it is None.
    """
    body = {"start": start, "end": end, "include_turns": include_turns, "limit": limit} | _given(cursor=cursor)
    path = project.path("feedback", "conversations-in-period")
    return _one("POST", path, body, Period)


def search(
    project: ProjectPlace, *, limit: int = 100, cursor: str | None = None, **filters: Unpack[FilterArguments]
) -> Call[SearchPage]:
    """Search for feedback, newest first. Follow `next_cursor` until it is None.

    Only effective feedback is returned, i.e. feedback that has not been replaced by other feedback on the same turn.
    """
    body = {"limit": limit} | _given(cursor=cursor, **filters)
    return _one("POST", project.path("feedback", "search"), body, SearchPage)


def export_request(
    project: ProjectPlace, kind: ExportKind, filters: FilterArguments, *, everyone: bool, records: bool
) -> Request:
    """Return the request for an export, whose response is in JSON Lines format."""
    fields = _given(**filters, everyone=everyone or None, records=records or None)
    attributes = fields.pop("attributes", {})
    fields |= {f"attributes.{name}": value for name, value in attributes.items()}
    query = {name: "true" if value is True else str(value) for name, value in fields.items()}
    return Request("GET", project.path("exports", kind), query=query)


def export_row(line: str) -> dict[str, Any]:
    """Parse a line of an export.

    Raises:
        UnexpectedAnswer: The line is not a JSON object.
    """
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise UnexpectedAnswer("a line of the export is not a JSON object: it may have been cut off")
    return row


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _quoted(part: str) -> str:
    return quote(replace_surrogates(part), safe="")


def _one(
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
    return Call([request], lambda answers: _checked(answers[0], answer, request))


def _checked(value: Any, expected: type[T], request: Request) -> T:
    """Return a response if it has the expected type.

    Raises:
        UnexpectedAnswer: The response has a different type. The error names the invalid field, but not its value.
    """
    if (mismatch := first_mismatch(value, expected)) is not None:
        call = f"{request.method} /{request.path.split('/')[1]}"
        raise UnexpectedAnswer(f"the response to {call} is not one of this API (see {mismatch})")
    return cast(T, value)


def _ingested(requests: Sequence[Request], answers: Sequence[Any]) -> IngestedJson:
    """Merge the responses to several requests that sent events.

    The lines of rejected events are renumbered, so that they count from the first event of the first request.
    """
    accepted = refused_total = before = 0
    refused: list[RefusedLineJson] = []
    for request, value in zip(requests, answers, strict=True):
        answer = _checked(value, IngestedJson, request)
        accepted += answer["accepted"]
        refused_total += answer["refused_total"]
        refused += [cast(RefusedLineJson, {**line, "line": line["line"] + before}) for line in answer["refused"]]
        before += request.lines
    return {"accepted": accepted, "refused": refused, "refused_total": refused_total}
