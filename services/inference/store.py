"""Interface of the message index and the types of its rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from contracts.detectors import precedence
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import Message

PLACES_KEPT: Final = 16
"""Maximum number of former times and threads stored for a message, latest first."""


class ConversationKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


class MessageKey(NamedTuple):
    """Key of a message.

    It includes the conversation, because many chats number their messages per conversation.
    """

    tenant: str
    project: str
    conversation_id: str
    message_id: str


@dataclass(frozen=True)
class IndexedMessage:
    """A message with the content of its highest version and the timestamp of its earliest version.

    Attributes:
        user_type: Role of the writer, as named by the platform.
        stood_at: Former timestamps of the message, latest first.
        stood_in: Former threads of the message, latest first.
    """

    conversation: ConversationKey
    message: Message
    version: bytes
    provenance: Provenance = NO_PROVENANCE
    user_type: str | None = None
    stood_at: tuple[int, ...] = ()
    stood_in: tuple[str, ...] = ()

    @cached_property
    def thread(self) -> str:
        """The id of the message's thread, or an empty string if the message is in the channel."""
        return self.message.thread_id or ""

    @cached_property
    def key(self) -> MessageKey:
        return MessageKey(*self.conversation, self.message.message_id)

    @property
    def said(self) -> tuple[object, ...]:
        """The values that affect the verdict on the message or the announcement of that verdict."""
        return self.message, self.provenance, self.user_type

    def merged(self, other: IndexedMessage) -> IndexedMessage:
        """Merge this version with another version of the message.

        Events may omit the message replied to and the thread, so a value from either version is kept. If both versions
        have a value, the greater one is kept.

        Returns:
            The merged message, or this same object if nothing changes.
        """
        at = min(self.message.at, other.message.at)
        thread = max(self.thread, other.thread)
        reply_to = max(self.message.reply_to or "", other.message.reply_to or "")
        same = (self.message.at, self.thread, self.message.reply_to or "") == (at, thread, reply_to)
        if other.version <= self.version and same:
            return self
        holds = other if other.version > self.version else self
        moved = (self.message.at,) if at < self.message.at else ()
        left = (self.thread,) if thread > self.thread else ()
        return replace(
            holds,
            message=replace(holds.message, at=at, reply_to=reply_to or None, thread_id=thread or None),
            stood_at=(*moved, *self.stood_at)[:PLACES_KEPT],
            stood_in=(*left, *self.stood_in)[:PLACES_KEPT],
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A message as read from the index, with the data needed to judge it.

    Attributes:
        evaluation: Number of message versions in the conversation.
        emitted_turn_id: Turn of the last announced verdict on the message, or None if none was announced.
        emitted_agent_id: Agent of the last announced verdict on the message, or None if none was announced.
        epoch: Epoch of the message's next verdict.
    """

    indexed: IndexedMessage
    evaluation: int
    emitted_turn_id: str | None
    emitted_agent_id: str | None
    epoch: int = 0

    @property
    def place(self) -> tuple[int, str]:
        return self.indexed.message.at, self.indexed.message.message_id


class VerdictStamp(NamedTuple):
    """Sort key for the verdicts on a message: the verdict with the highest stamp is effective.

    `judged_by` is the detector version in sortable form (see `precedence`).
    """

    epoch: int
    judged_by: str
    evaluation: int

    @classmethod
    def of(cls, placed: Placed, version: str) -> VerdictStamp:
        """Return the stamp of a verdict on `placed` by a detector of the given version."""
        return cls(placed.epoch, precedence(version), placed.evaluation)


class Place(NamedTuple):
    """Position of a message in a thread or in a conversation's channel. `thread` is empty for the channel."""

    conversation: ConversationKey
    at: int
    message_id: str
    thread: str = ""

    @property
    def scope(self) -> Scope:
        """The thread or channel of this position."""
        return Scope(self.conversation, self.thread)


class Scope(NamedTuple):
    """A thread including its root message, or a conversation's channel without its threads."""

    conversation: ConversationKey
    thread: str


@dataclass(frozen=True, slots=True)
class Emission:
    """A planned announcement: the message, its sender, and the turn and agent of the judged answer."""

    key: MessageKey
    sender_id: str
    turn_id: str
    agent_id: str


class ConversationStore(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Merge messages into the index and commit.

        Args:
            messages: At most one message per key.

        Returns:
            The keys of the messages that were added or changed (see `IndexedMessage.merged`).
        """
        ...

    async def places(self, keys: Collection[MessageKey]) -> Sequence[Place]:
        """Return the current and former positions of the stored messages with these keys.

        Verdicts on later messages may depend on any of these positions. The root message of a thread has a position
        both in the thread and in the channel.
        """
        ...

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        """Return the messages at these places, and up to `reach` messages before and after each place.

        Returns:
            One list per thread or channel, in the order of their sorted scopes. Each list is sorted by (at, message_id)
                without duplicates, and includes the root message of a thread. There may be gaps between distant places.
        """
        ...

    async def emitting(self, emissions: Collection[Emission]) -> None:
        """Record announcements before they are published, so that later judgements know what to retract.

        An announcement is skipped if the sender of its message has changed, because this means that the sender was
        erased.
        """
        ...

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        """Return True if the evaluation of any of these messages has increased since the message was read."""
        ...
