"""Types of the bridge: indexed messages, and events that are parked until their original messages arrive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from uuid import uuid5

from contracts.base import TEXT_LIMIT, Event, SenderType
from contracts.chat import ChatMessageIngested, OriginalMessage
from contracts.exchange import ExchangeMessage, Position, has_text, question_of, thread_of
from contracts.ids import NAMESPACE
from contracts.message_fields import MessageKey
from contracts.posts import About, about_in
from contracts.provenance import NO_PROVENANCE, Provenance, provenance_of
from contracts.topics import BY_NAME

UNLOGGED_POSITION: Final = Position(0)
"""Position of a message that is known only from a copy in another event, and not stored."""


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """Message in the index.

    A person's message is stored without its sender ('') and its content (None). Apart from the position, which is that
    of the earliest version, only the highest version of a message is stored.

    Attributes:
        content: The text of an agent's message, truncated to 10,000 characters.
        has_text: False if the message is empty or deleted.
        thread_id: None for a message outside any thread.
        question_message_id: For an answer, the message id of its question. None if the index did not contain the
            question when the answer was read. The index does not know people's names, so it cannot find the person whom
            the answer addresses by name.
        is_of_starter: True for a message in a thread by the person who began the thread. The event says so, because the
            index does not know people's ids.
    """

    key: MessageKey
    turn_id: str
    sender_id: str
    sender_type: SenderType
    agent_id: str | None
    content: str | None
    truncated: bool
    provenance: Provenance
    version: bytes
    reply_to: str | None = None
    thread_id: str | None = None
    question_message_id: str | None = None
    has_text: bool = True
    position: Position = UNLOGGED_POSITION
    is_of_starter: bool = False

    def merged(self, other: IndexedMessage) -> IndexedMessage:
        """Merge this version with another version of the message, in any order."""
        latest = other if other.version > self.version else self
        is_of_starter = self.is_of_starter or other.is_of_starter
        return replace(latest, position=min(self.position, other.position), is_of_starter=is_of_starter)

    @property
    def exchange_message(self) -> ExchangeMessage:
        """The parts of the message that decide which question an answer answers."""
        return ExchangeMessage(
            self.key.message_id,
            self.turn_id,
            self.thread_id or "",
            self.sender_id,
            self.sender_type == "human",
            self.has_text,
            self.position,
            self.reply_to,
            self.content or "",
        )

    def answering(self, candidates: Iterable[ExchangeMessage]) -> IndexedMessage:
        """Return a copy with the question that the message answers; a person's message is returned unchanged.

        Args:
            candidates: People's messages of the conversation, among them those that `question_of` needs.
        """
        if self.sender_type != "agent":
            return self
        question = question_of(self.exchange_message, candidates)
        return replace(self, question_message_id=question.message_id if question else None)

    @property
    def said(self) -> tuple[object, ...]:
        """Content of this version, for comparison with other versions."""
        return self.turn_id, self.sender_id, self.sender_type, self.agent_id, self.content, self.provenance


class RatedConversation(NamedTuple):
    """A judgement that names no message. `agent_id` is empty if it names no agent."""

    tenant: str
    project: str
    conversation_id: str
    agent_id: str
    rated_at: int


class ParkedKey(NamedTuple):
    """Key of a parked event.

    `identity` is derived from the event's content (see `identity_of`).
    """

    tenant: str
    project: str
    topic: str
    identity: str


@dataclass(frozen=True, slots=True)
class ParkedEvent:
    """Reply or reaction that waits for its original message.

    Attributes:
        original: Key of the original message.
        value: The event as JSON.
        cause: Position of the event's record in the log.
        log_time: Time in microseconds at which the event was first written to the log.
        parked_at: Time in microseconds at which the event was parked.
    """

    key: ParkedKey
    original: MessageKey
    record_key: bytes | None
    value: bytes
    cause: str
    traceparent: str | None
    log_time: int
    parked_at: int

    @property
    def event(self) -> About:
        """The reply or reaction, parsed from `value`."""
        event = about_in(BY_NAME[self.key.topic].event.from_wire(self.value))
        assert event is not None
        return event


def indexed(
    event: ChatMessageIngested | OriginalMessage,
    tenant: str,
    project: str,
    version: bytes,
    position: Position = UNLOGGED_POSITION,
) -> IndexedMessage:
    """Return the index row for a message.

    A message without a turn id gets its message id as turn id.
    """
    from_agent = event.sender_type == "agent"
    thread = thread_of(event.message_id, event.thread_id) if isinstance(event, ChatMessageIngested) else None
    reply_to = event.reply_to_message_id if isinstance(event, ChatMessageIngested) else None
    return IndexedMessage(
        key=MessageKey(tenant, project, event.conversation_id, event.message_id),
        turn_id=event.turn_id or event.message_id,
        sender_id=event.sender_id if from_agent else "",
        sender_type=event.sender_type,
        agent_id=(event.agent_id or event.sender_id) if from_agent else None,
        content=event.content[:TEXT_LIMIT] if from_agent else None,
        truncated=from_agent and len(event.content) > TEXT_LIMIT,
        provenance=provenance_of(event) if from_agent else NO_PROVENANCE,
        version=version,
        reply_to=reply_to if from_agent else None,
        thread_id=thread,
        has_text=has_text(event.content),
        position=position,
    )


def identity_of(event: About) -> str:
    """Return the identity of an event: a UUID (version 5) derived from its content.

    Events with the same id but different content have different identities. The copy of the original message is not
    included.
    """
    return str(uuid5(NAMESPACE, without_copy(event).decode()))


def without_copy(event: Event) -> bytes:
    """Return the event as JSON, without its copy of the original message.

    The copy may contain another person's words.
    """
    return event.model_dump_json(by_alias=True, exclude_none=True, exclude={"original"}).encode()
