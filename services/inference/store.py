"""Interface of the conversation index, and the types of its rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from contracts.detectors import precedence
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import Message

PLACES_KEPT: Final = 16
"""Maximum number of former positions that are stored for a message, latest first."""


class ConversationKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


class MessageKey(NamedTuple):
    """Key of a message. A message id alone is not unique, because many chats number messages per conversation."""

    tenant: str
    project: str
    conversation_id: str
    message_id: str


@dataclass(frozen=True)
class IndexedMessage:
    """Message of a conversation, with the content of its greatest version and the time of its earliest version.

    `stood_at` and `stood_in` have the former times and threads of the message, latest first. `user_type` is the
    platform's own name for the writer's role.
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
        """Id of the message's thread; empty if the message is in the channel."""
        return self.message.thread_id or ""

    @cached_property
    def key(self) -> MessageKey:
        return MessageKey(*self.conversation, self.message.message_id)

    @property
    def said(self) -> tuple[object, ...]:
        """Values of the fields that affect a verdict on the message or the announcement of the verdict."""
        return self.message, self.provenance, self.user_type

    def merged(self, other: IndexedMessage) -> IndexedMessage:
        """Return this version merged with another version of the message; this object if nothing changes.

        Events may omit the replied-to message and the thread, so a value from any version is kept. If two versions have
        different values, the value of the greater version is used.
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
    """Message as it is read from the index.

    `evaluation` is the number of message versions in its conversation. `epoch` is the epoch of new verdicts.
    `emitted_turn_id` and `emitted_agent_id` are the turn and the agent of the last announced verdict on the message;
    None if there was none.
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
    """Sort key of the verdicts on a message. The verdict with the highest stamp counts.

    `judged_by` is the `precedence` of the detector's version.
    """

    epoch: int
    judged_by: str
    evaluation: int

    @classmethod
    def of(cls, placed: Placed, version: str) -> VerdictStamp:
        """Return the stamp of a verdict on `placed` by a detector with this version."""
        return cls(placed.epoch, precedence(version), placed.evaluation)


class Place(NamedTuple):
    """Position of a message in a thread or channel of a conversation. `thread` is empty for the channel."""

    conversation: ConversationKey
    at: int
    message_id: str
    thread: str = ""

    @property
    def scope(self) -> Scope:
        """The thread or channel of the position."""
        return Scope(self.conversation, self.thread)


class Scope(NamedTuple):
    """A thread with its root message, or the channel without its threads."""

    conversation: ConversationKey
    thread: str


@dataclass(frozen=True, slots=True)
class Emission:
    """Planned announcement of a verdict: the message, its sender, and the turn and agent that the verdict is about."""

    key: MessageKey
    sender_id: str
    turn_id: str
    agent_id: str


class ConversationStore(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Merge messages, at most one per key, into the index (see `IndexedMessage.merged`), and commit.

        Returns the keys of added or changed messages.
        """
        ...

    async def places(self, keys: Collection[MessageKey]) -> Sequence[Place]:
        """Return the current and former positions of the stored messages with these keys.

        Later messages may depend on them. The root message of a thread also has a position in the thread.
        """
        ...

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        """Return, for each scope, the messages at these places and up to `reach` messages before and after each.

        Messages are unique and sorted by (at, message_id). Messages between distant places are missing. A thread
        includes its root message.
        """
        ...

    async def emitting(self, emissions: Collection[Emission]) -> None:
        """Record announcements before they are published, so that a later judgement knows what to retract.

        If the sender id of a message has changed, its announcement is skipped, because an erasure has replaced the id.
        """
        ...

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        """Return True if the evaluation of any of these messages has increased since the messages were read."""
        ...
