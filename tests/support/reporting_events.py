"""Events and batches for the reporting tests, with defaults for everything that a test does not name."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol
from uuid import NAMESPACE_OID, UUID, uuid5

from contracts.base import NO_VERDICTS
from contracts.chat import ChatMessageIngested, ChatMessageReplyIngested
from contracts.feedback import FeedbackCreated
from servicekit.log.records import Coordinates, RawRecord, Received

START = 1_790_000_000_000_000
"""Time of `at=0` in microseconds: 2026-09-21T13:33:20Z."""
REPLY_VALUE = 0.4
Event = ChatMessageIngested | ChatMessageReplyIngested | FeedbackCreated


class Take(Protocol):
    """Fixture that writes events to the read models as one batch."""

    def __call__(self, *events: Event) -> Awaitable[None]: ...


_VALUES = {"ok": 0.6, "not_ok": -0.6, "neutral": 0.0, None: None}


def feedback_id(name: str) -> UUID:
    return UUID(name) if len(name) == 36 else uuid5(NAMESPACE_OID, name)


def feedback(
    name: str,
    *,
    kind: str = "reaction",
    reaction: str | None = "ok",
    revision: int = 1,
    tenant: str = "acme",
    project: str = "support",
    conversation: str = "c1",
    turn: str = "t1",
    user: str = "ann",
    agent: str = "agent-a",
    at: float = 0,
    recorded: float = 0,
    live: bool = True,
    **fields: Any,
) -> FeedbackCreated:
    """Return a feedback event; `at` and `recorded` are in seconds from START. Replies (`implicit`) have a value while
    they are `live`, and no reaction."""
    value = _VALUES[reaction] if kind not in NO_VERDICTS else REPLY_VALUE if live else None
    values: dict[str, Any] = {
        "event_id": f"{name}-{revision}",
        "occurred_at": START + int(at * 1_000_000),
        "tenant": tenant,
        "project": project,
        "feedback_id": feedback_id(name),
        "change": "created" if value is not None else "cleared",
        "revision": revision,
        "recorded_at": START + int(recorded * 1_000_000),
        "conversation_id": conversation,
        "turn_id": turn,
        "agent_message_id": None,
        "agent_id": agent,
        "user_id": user,
        "user_type": "human",
        "origin": "machine" if kind == "inferred" else "user",
        "feedback_type": kind,
        "source": "chat",
        "source_id": name,
        "reaction": None if kind in NO_VERDICTS else reaction,
        "value": value,
        "confidence": 1.0,
        "text": None,
        "tags": (),
        "correction": None,
        "emoji": None,
        "correction_type": None,
        "rn": f"ef:{tenant}:{project}:{user}:{conversation}:{turn}:artifact:{feedback_id(name)}",
        "track_id": None,
        "bundle_id": None,
        "agent_version": None,
        "model": None,
        "trace_id": None,
        "causation_id": name,
    }
    return FeedbackCreated(**(values | fields))


def message(
    name: str,
    *,
    content: str = "Hello.",
    sender: str = "ann",
    agent: str | None = None,
    tenant: str = "acme",
    project: str = "support",
    conversation: str = "c1",
    turn: str | None = "t1",
    at: float = 0,
    **fields: Any,
) -> ChatMessageIngested:
    """Return a chat message, by an agent if `agent` is given."""
    return ChatMessageIngested(
        event_id=str(uuid5(NAMESPACE_OID, f"{name}-{at}")),
        occurred_at=START + int(at * 1_000_000),
        tenant=tenant,
        project=project,
        message_id=name,
        conversation_id=conversation,
        turn_id=turn,
        sender_id=agent or sender,
        sender_type="agent" if agent else "human",
        agent_id=agent,
        content=content,
        **fields,
    )


def reply(
    name: str,
    content: str,
    *,
    about: str = "a1",
    sender: str = "ann",
    conversation: str = "c1",
    at: float = 0,
    **fields: Any,
) -> ChatMessageReplyIngested:
    """Return the event of the message `name` as a reply."""
    values: dict[str, Any] = {
        "event_id": str(uuid5(NAMESPACE_OID, f"reply {name}-{at}")),
        "occurred_at": START + int(at * 1_000_000),
        "tenant": "acme",
        "project": "support",
        "message_id": name,
        "original_message_id": about,
        "conversation_id": conversation,
        "sender_id": sender,
        "sender_type": "human",
        "content": content,
    }
    return ChatMessageReplyIngested(**(values | fields))


def batch(*events: Any) -> list[Received[Any]]:
    """Return the events as records read from the log."""
    return [
        Received(event, RawRecord(Coordinates("test", 0, at), None, b"", (), event.occurred_at))
        for at, event in enumerate(events)
    ]
