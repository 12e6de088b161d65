"""The bridge's vocabulary: what it knows of a message, and what it sets aside until it knows more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from contracts.base import TEXT_LIMIT, SenderType
from contracts.chat import ChatMessageIngested, ChatMessageReactionIngested, ChatMessageReplyIngested, OriginalMessage
from contracts.provenance import NOTHING_TOLD, Provenance, provenance_of

About = ChatMessageReplyIngested | ChatMessageReactionIngested
"""An event about another message."""


class MessageKey(NamedTuple):
    tenant: str
    project: str
    message_id: str


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """A message as the index keeps it. `content` is None for people's messages, at most 10,000 characters else."""

    key: MessageKey
    conversation_id: str
    turn_id: str
    sender_id: str
    sender_type: SenderType
    agent_id: str | None
    content: str | None
    truncated: bool
    provenance: Provenance
    occurred_at: int


class ParkedKey(NamedTuple):
    tenant: str
    project: str
    topic: str
    event_id: str


@dataclass(frozen=True, slots=True)
class ParkedEvent:
    """A reply or reaction that waits for its original. Times in microseconds."""

    key: ParkedKey
    original_message_id: str
    record_key: bytes | None
    value: bytes
    cause: str
    traceparent: str | None
    log_time: int
    parked_at: int

    @property
    def original(self) -> MessageKey:
        return MessageKey(self.key.tenant, self.key.project, self.original_message_id)


def indexed(
    event: ChatMessageIngested | OriginalMessage, tenant: str, project: str, occurred_at: int
) -> IndexedMessage:
    """What the index keeps of a message; a missing turn id makes the message its own turn."""
    from_agent = event.sender_type == "agent"
    return IndexedMessage(
        key=MessageKey(tenant, project, event.message_id),
        conversation_id=event.conversation_id,
        turn_id=event.turn_id or event.message_id,
        sender_id=event.sender_id,
        sender_type=event.sender_type,
        agent_id=(event.agent_id or event.sender_id) if from_agent else None,
        content=event.content[:TEXT_LIMIT] if from_agent else None,
        truncated=from_agent and len(event.content) > TEXT_LIMIT,
        provenance=provenance_of(event) if from_agent else NOTHING_TOLD,
        occurred_at=occurred_at,
    )


def original_id(event: About) -> str:
    """The id of the message that `event` is about."""
    return event.original_message_id if isinstance(event, ChatMessageReplyIngested) else event.message_id
