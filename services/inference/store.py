"""What inference needs of its index of conversations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from inference.model import Message


class MessageKey(NamedTuple):
    tenant: str
    project: str
    message_id: str


class ConversationKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """A message in its conversation. `said_at` is the time of the version whose text it holds, in microseconds."""

    conversation: ConversationKey
    message: Message
    said_at: int

    @property
    def key(self) -> MessageKey:
        return MessageKey(self.conversation.tenant, self.conversation.project, self.message.message_id)


def version_of(indexed: IndexedMessage) -> tuple[int, str, str, str, str, str]:
    """Orders the versions of a message; the greatest one is kept."""
    message = indexed.message
    return indexed.said_at, message.text, message.turn_id, message.sender_id, message.role, message.agent_id or ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A message as the index holds it.

    `evaluation` is the number of message versions that its conversation holds. `emitted_turn_id` and
    `emitted_agent_id` say what a verdict on it was last announced for, None where none ever was.
    """

    indexed: IndexedMessage
    evaluation: int
    emitted_turn_id: str | None
    emitted_agent_id: str | None


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a conversation, from the first to the last (at, message_id)."""

    conversation: ConversationKey
    first: tuple[int, str]
    last: tuple[int, str]


@dataclass(frozen=True, slots=True)
class Emission:
    """A verdict on a message is about to be announced for this turn."""

    key: MessageKey
    turn_id: str
    agent_id: str


class Store(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Keep messages, at most one per key: the earliest time as its place, the text of the latest version.

        Of versions of one time the greater one stands, so that the order of arrival does not matter.
        Gives the keys that were added or changed. Committed on return.
        """
        ...

    async def placed(self, keys: Collection[MessageKey]) -> Sequence[IndexedMessage]:
        """The known ones of `keys`, as the index holds them."""
        ...

    async def around(self, spans: Collection[Span], reach: int) -> Sequence[Sequence[Placed]]:
        """For each span the messages in it, with `reach` messages before and after, in order of (at, message_id)."""
        ...

    async def emitting(self, emissions: Collection[Emission]) -> None:
        """Note what is about to be announced, so that a later look that finds nothing knows what to retract."""
        ...

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        """Whether the evaluation of any of these messages has grown since they were read."""
        ...

    async def ping(self) -> None:
        """Raise if the database does not answer."""
        ...
