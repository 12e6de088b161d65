"""Definitions of the API calls, which build the requests and parse the responses. This module sends nothing.

A `Call` consists of the requests, in sending order, and a function that combines their responses. All calls are
idempotent, so they can be retried: a repeated judgement overwrites the previous one, events have ids, and a session is
ended with an idempotency key. All other calls only read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack, cast
from uuid import uuid4

from agent_feedback_kit.answers import (
    AcceptedFeedbackJson,
    DetectedJson,
    DetectOptions,
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
from agent_feedback_kit.client.requests import (
    NDJSON,
    Call,
    ProjectPlace,
    Request,
    checked,
    given_fields,
    quoted,
    single,
)
from agent_feedback_kit.errors import UnexpectedAnswer
from agent_feedback_kit.json_text import json_bytes
from agent_feedback_kit.sessions.record import Source

INGEST_BYTES = 4 * 1024 * 1024
INGEST_LINES = 10_000
_TEXT_LIMIT = 10_000


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
    body = given_fields(text=text, tags=list(tags) or None, correction=correction, ts=ts, user_id=user_id)
    path = project.path(conversation_id, "turns", turn_id, "feedback")
    return single("POST", path, {"reaction": reaction} | body, AcceptedFeedbackJson)


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
    body = {"rating": rating, "scale": scale} | given_fields(text=text, ts=ts, user_id=user_id)
    return single("POST", project.path(conversation_id, "turns", turn_id, "feedback"), body, AcceptedFeedbackJson)


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
    return single("GET", path, None, OwnFeedbackJson, query=given_fields(user_id=user_id))


def ingest(project: ProjectPlace, events: Iterable[Mapping[str, Any]]) -> Call[IngestedJson]:
    """Send chat events in order. The module `agent_feedback_kit.events` creates such events.

    The events are sent in requests of at most 10,000 events and 4 MiB. Each event needs an `eventId`, so that a retried
    request is recognised as a duplicate. Raises ValueError if an event has none.
    """
    requests: list[Request] = []
    lines: list[bytes] = []
    size = 0
    path = f"/ingest/{quoted(project.tenant)}/{quoted(project.project)}/events"

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
    """End a session, optionally with a rating. The response does not show whether the rating was stored.

    `source` is the interface in which the rating was given, by default `api_end`.
    """
    key = idempotency_key or str(uuid4())
    fields = given_fields(
        user_id=user_id, memory_mode=memory_mode, idempotency_key=key if feedback else None, source=source
    )
    body = {"feedback": feedback, "tenant": project.tenant, "project": project.project} | fields
    path = f"/api/threads/{quoted(thread_id)}/end"
    return single("POST", path, body, EndedSessionJson)


def memory_status(project: ProjectPlace, thread_id: str) -> Call[MemoryStatusJson]:
    """Return the number of ratings stored for a session."""
    query = {"thread_id": thread_id, "tenant": project.tenant}
    return single("GET", "/api/memory/status", None, MemoryStatusJson, query=query)


def detect(
    project: ProjectPlace, conversation_id: str, text: str, **options: Unpack[DetectOptions]
) -> Call[DetectedJson]:
    """Judge the previous answer by a new message and return the verdict. Nothing is published.

    With the option `previous`, the previous answer, the platform responds immediately. Without it, the platform first
    waits for the log to be indexed, for at most two seconds or `wait_seconds`, whichever is less.

    Args:
        options: Facts about the message, and the strategies to return (see `DetectOptions`).

    Raises:
        TypeError: An option is unknown.
    """
    if unknown := sorted(options.keys() - DetectOptions.__annotations__.keys()):
        raise TypeError(f"detect has no option {unknown[0]}")
    fields = {**options, "text": text, "previous": _within_limits(options.get("previous"))}
    return single("POST", project.path(conversation_id, "detect"), given_fields(**fields), DetectedJson)


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
    narrowed = given_fields(since=since, watermark=watermark, limit=limit, cursor=cursor)
    body = {"turn_ids": None if turn_ids is None else list(turn_ids)} | narrowed
    return single("POST", project.path(conversation_id, "feedback", "latest"), body, LatestJson)


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
    body = given_fields(text=text, intent=intent, user_id=user_id, agent_id=agent_id, limit=limit)
    return single("POST", project.path("strategies", "search"), body, Strategies)


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
    body = {"start": start, "end": end, "include_turns": include_turns, "limit": limit} | given_fields(cursor=cursor)
    path = project.path("feedback", "conversations-in-period")
    return single("POST", path, body, Period)


def search(
    project: ProjectPlace, *, limit: int = 100, cursor: str | None = None, **filters: Unpack[FilterArguments]
) -> Call[SearchPage]:
    """Search for feedback, newest first. Follow `next_cursor` until it is None.

    Only effective feedback is returned, i.e. feedback that has not been replaced by other feedback on the same turn.
    """
    body = {"limit": limit} | given_fields(cursor=cursor, **filters)
    return single("POST", project.path("feedback", "search"), body, SearchPage)


def export_request(
    project: ProjectPlace, kind: ExportKind, filters: FilterArguments, *, everyone: bool, records: bool
) -> Request:
    """Return the request for an export, whose response is in JSON Lines format."""
    fields = given_fields(**filters, everyone=everyone or None, records=records or None)
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


def _ingested(requests: Sequence[Request], answers: Sequence[Any]) -> IngestedJson:
    """Merge the responses to several requests that sent events.

    The lines of rejected events are renumbered, so that they count from the first event of the first request.
    """
    accepted = refused_total = before = 0
    refused: list[RefusedLineJson] = []
    for request, value in zip(requests, answers, strict=True):
        answer = checked(value, IngestedJson, request)
        accepted += answer["accepted"]
        refused_total += answer["refused_total"]
        refused += [cast(RefusedLineJson, {**line, "line": line["line"] + before}) for line in answer["refused"]]
        before += request.lines
    return {"accepted": accepted, "refused": refused, "refused_total": refused_total}
