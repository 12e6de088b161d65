"""Entries, records and received events for the feedback tests, with defaults for everything that a test does not
name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.feedback import (
    FeedbackErasureRequested,
    FeedbackExplicitReceived,
    FeedbackInferredReceived,
    FeedbackReactionReceived,
    FeedbackReplyReceived,
    FeedbackTrainingChosen,
)
from contracts.topics import (
    ERASURE_CONFIRMED,
    ERASURE_REQUESTED,
    EXPLICIT_RECEIVED,
    INFERRED_RECEIVED,
    REACTION_RECEIVED,
    REPLY_RECEIVED,
    TRAINING_CHOSEN,
    Topic,
)
from feedback.model import Entry, Key, Payload, Record, Stamp
from servicekit.log.records import Coordinates, Message, RawRecord, Received, Written

START = 1_790_000_000_000_000
"""Time of `at=0` in microseconds: 2026-09-21T14:13:20Z."""
SECOND = 1_000_000


def key(name: str = "t1", *, tenant: str = "acme", project: str = "support", user: str = "ann") -> Key:
    return Key(tenant, project, "c1", "api", user, "", name)


def entry(at: int = 0, *, present: bool = True, event: str = "e1", text: str | None = None, **said: Any) -> Entry:
    """Return an entry; `at` is in microseconds from START."""
    stamp = Stamp(said.pop("evaluation", 0), START + at, said.pop("sequence", -1), not present, event, "d")
    fields: dict[str, Any] = {"reaction": "ok", "value": 1.0} if present else {}
    payload = Payload(said.pop("turn_id", "t1"), "agent-a", None, "human", event, **{**fields, "text": text, **said})
    return Entry(stamp, present, payload)


def record(
    name: str = "t1", *, revision: int = 1, created: int = 1, slot: str = "", at: int = 0, **said: Any
) -> Record:
    """Return a record with one entry; `said` has fields of the key or the entry."""
    named = {field: said.pop(field) for field in ("tenant", "project", "user") if field in said}
    return Record(key(name, **named), "explicit", "user", {slot: entry(at, **said)}, revision, created)


_COMMON: dict[str, Any] = {"tenant": "acme", "project": "support", "conversation_id": "c1", "turn_id": "t1"}
_ABOUT = {**_COMMON, "agent_id": "agent-a", "agent_message_id": "m1", "agent_message_content": "Hello."}


def explicit(reaction: str | None = "ok", *, at: float = 0, event: str = "x1", **fields: Any) -> Any:
    """Return an explicit judgement. `at` is in seconds from START, here and below."""
    given = {**_COMMON, "agent_id": "agent-a", "user_id": "ann", "reaction": reaction, **fields}
    return FeedbackExplicitReceived(event_id=event, occurred_at=START + int(at * SECOND), **given)


def reaction(
    emoji: str | None = "👍", action: str = "added", *, at: float = 0, event: str = "r1", **fields: Any
) -> Any:
    given = {**_ABOUT, "reaction_user_id": "ann", "reaction_user_type": "human", "emoji": emoji, "action": action}
    return FeedbackReactionReceived(event_id=event, occurred_at=START + int(at * SECOND), **(given | fields))


def reply(content: str = "Thanks.", *, at: float = 0, event: str = "y1", **fields: Any) -> Any:
    given = {**_ABOUT, "message_id": "m2", "reply_sender_id": "ann", "reply_sender_type": "human"}
    return FeedbackReplyReceived(
        event_id=event, occurred_at=START + int(at * SECOND), reply_content=content, **(given | fields)
    )


def inferred(verdict: str | None = "rejected", *, at: float = 0, evaluation: int = 1, **fields: Any) -> Any:
    given: dict[str, Any] = {
        **_COMMON,
        "agent_id": "agent-a",
        "detected_in_turn_id": "t2",
        "detected_in_message_id": "m3",
        "user_id": "ann",
        "verdict": verdict,
        "reaction": None if verdict is None else "not_ok" if verdict == "rejected" else "ok",
        "confidence": 0.9,
        "user_said": "No, that is wrong.",
        "detector": "implicit",
        "detector_version": "1",
    }
    event = fields.pop("event", f"i{evaluation}")
    return FeedbackInferredReceived(
        event_id=event, occurred_at=START + int(at * SECOND), evaluation=evaluation, **(given | fields)
    )


def erasure(user: str = "ann", *, at: float = 0, request: str = "q1", tenant: str = "acme") -> Any:
    return FeedbackErasureRequested(
        event_id=request, occurred_at=START + int(at * SECOND), tenant=tenant, user_id=user, request_id=request
    )


def choice(user: str = "ann", *, at: float = 0, allowed: bool = False) -> Any:
    return FeedbackTrainingChosen(
        event_id=f"t{at}",
        occurred_at=START + int(at * SECOND),
        tenant="acme",
        user_id=user,
        training_allowed=allowed,
    )


_TOPICS: dict[type[Any], Topic] = {
    FeedbackExplicitReceived: EXPLICIT_RECEIVED,
    FeedbackReactionReceived: REACTION_RECEIVED,
    FeedbackReplyReceived: REPLY_RECEIVED,
    FeedbackInferredReceived: INFERRED_RECEIVED,
    FeedbackErasureRequested: ERASURE_REQUESTED,
    FeedbackTrainingChosen: TRAINING_CHOSEN,
}


def received(event: Any, *, logged: float | None = None, offset: int = 0) -> Received[Any]:
    """Return the event as read from its topic; `logged` (seconds from START) is the log time, by default the event's
    own."""
    log_time = event.occurred_at if logged is None else START + int(logged * SECOND)
    at = Coordinates(_TOPICS[type(event)].name, 0, offset)
    return Received(event, RawRecord(at, None, b"{}", (), log_time))


def batch(*events: Any) -> list[Received[Any]]:
    return [event if isinstance(event, Received) else received(event, offset=n) for n, event in enumerate(events)]


class RecordingProducer:
    """In-memory log with every announcement in order, and the confirmations of erasures."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.confirmed: list[Message] = []

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        first = len(self.sent)
        self.confirmed += [message for message in messages if message.topic == ERASURE_CONFIRMED.name]
        self.sent += [message for message in messages if message.topic != ERASURE_CONFIRMED.name]
        return [Written(message.topic, message.partition or 0, first + n) for n, message in enumerate(messages)]

    @property
    def last(self) -> dict[str | None, bytes | None]:
        """Return the last value of each key."""
        return {message.key: message.value for message in self.sent}
