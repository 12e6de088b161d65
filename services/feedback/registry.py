"""Registry of messages, in which a judged turn's answer and question are found. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from contracts.base import PERSON, UserType
from contracts.exchange import ExchangeMessage, Position, has_text, thread_of
from contracts.message_fields import MessageKey
from contracts.provenance import NO_PROVENANCE, Provenance, provenance_of
from contracts.versions import UNLOGGED, LogPosition, MessageEvent, message_in, place_of, version_of

OPENING: Final = 300
"""Number of registered characters of an answer. They contain the name of a person whom the answer addresses."""


@dataclass(frozen=True, slots=True)
class RegisteredMessage:
    """Message in the registry: its highest version, at the position of the earliest one.

    Attributes:
        turn_id: None for a message of no agent that names no turn. An agent's message without a turn has its own id.
        content: The first OPENING characters of an agent's message. None for any other message.
        has_text: False if the message is empty or deleted.
        thread_id: None for a message outside any thread.
    """

    key: MessageKey
    turn_id: str | None
    sender_id: str
    sender_type: str
    agent_id: str | None
    content: str | None
    user_type: str | None
    provenance: Provenance
    reply_to: str | None
    thread_id: str | None
    has_text: bool
    version: bytes
    position: Position

    def merged(self, other: RegisteredMessage) -> RegisteredMessage:
        """Merge this version with another version of the message, in any order."""
        latest = other if other.version > self.version else self
        return replace(latest, position=min(self.position, other.position))

    @property
    def exchange_message(self) -> ExchangeMessage:
        """The parts of the message that decide which question an answer answers."""
        return ExchangeMessage(
            self.key.message_id,
            self.turn_id or self.key.message_id,
            self.thread_id or "",
            self.sender_id,
            self.agent_id is None,
            self.has_text,
            self.position,
            self.reply_to,
            self.content or "",
        )


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """The answer that feedback on a turn belongs to, with its question.

    `question_message_id` is None if the registry does not contain the question.
    """

    message_id: str
    agent_id: str
    provenance: Provenance
    thread_id: str | None = None
    question_message_id: str | None = None


class TurnFacts(NamedTuple):
    """Result of a look-up: the facts about a turn and a person.

    Attributes:
        answer: None until an agent has answered.
        user_type: The user type of the person's latest message that has one.
        erased_at: Time of the person's latest erasure in microseconds. None if there was none.
    """

    answer: TurnAnswer | None = None
    user_type: UserType = PERSON
    erased_at: int | None = None


def registered(event: MessageEvent, logged: LogPosition = UNLOGGED) -> RegisteredMessage:
    """Return the message in an event, without a person's words."""
    message = message_in(event)
    from_agent = message.sender_type == "agent"
    return RegisteredMessage(
        key=MessageKey(message.tenant, message.project, message.conversation_id, message.message_id),
        turn_id=message.turn_id or (message.message_id if from_agent else None),
        sender_id=message.sender_id,
        sender_type=message.sender_type,
        agent_id=(message.agent_id or message.sender_id) if from_agent else None,
        content=message.content[:OPENING] if from_agent else None,
        user_type=message.user_type if message.sender_type == "human" else None,
        provenance=provenance_of(message) if from_agent else NO_PROVENANCE,
        reply_to=message.reply_to_message_id if from_agent else None,
        thread_id=thread_of(message.message_id, message.thread_id),
        has_text=has_text(message.content),
        version=version_of(event, logged),
        position=Position(*place_of(event), logged.log_time, logged.offset),
    )


def collapse(messages: Iterable[RegisteredMessage]) -> list[RegisteredMessage]:
    """Merge the versions of each message, and sort the messages by key."""
    merged: dict[MessageKey, RegisteredMessage] = {}
    for message in messages:
        previous = merged.get(message.key)
        merged[message.key] = message if previous is None else previous.merged(message)
    return [merged[key] for key in sorted(merged)]
