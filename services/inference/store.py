"""Port of the conversation index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from contracts.detectors import precedence
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import Message

PLACES_KEPT: Final = 16
"""Maximum number of former positions stored per message, latest first."""


class ConversationKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


class MessageKey(NamedTuple):
    """Key of a message. The id alone is not unique, since many chats number messages per conversation."""

    tenant: str
    project: str
    conversation_id: str
    message_id: str


@dataclass(frozen=True)
class IndexedMessage:
    """Message of a conversation, with the content of its greatest version and the time of its earliest version.

    `stood_at` and `stood_in` have its former times and threads, latest first. `user_type` is the person's role in the
    platform's terms.
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
        """Id of the message's thread; empty for the channel."""
        return self.message.thread_id or ""

    @cached_property
    def key(self) -> MessageKey:
        return MessageKey(*self.conversation, self.message.message_id)

    @property
    def said(self) -> tuple[object, ...]:
        """Values of the fields that affect a verdict or its announcement."""
        return self.message, self.provenance, self.user_type

    def merged(self, other: IndexedMessage) -> IndexedMessage:
        """Return the merge of this version with another version; the same object if nothing changes.

        Events may omit the replied-to message and the thread, so a value from any version is kept. If two versions have
        different values, the greater value wins.
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
    """Message as read from the index.

    `evaluation` is the number of message versions in its conversation; `epoch` is the epoch of new verdicts.
    `emitted_turn_id` and `emitted_agent_id` belong to its last announced verdict; None if it never had one.
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
    """Sort key of the verdicts on a message; the highest one wins. `judged_by` is the detector's `precedence`."""

    epoch: int
    judged_by: str
    evaluation: int

    @classmethod
    def of(cls, placed: Placed, version: str) -> VerdictStamp:
        """Return the stamp of a verdict on `placed` by a detector of this version."""
        return cls(placed.epoch, precedence(version), placed.evaluation)


class Place(NamedTuple):
    """Position of a message in a conversation's thread; an empty `thread` means the channel."""

    conversation: ConversationKey
    at: int
    message_id: str
    thread: str = ""

    @property
    def scope(self) -> Scope:
        """The position's thread, or the channel."""
        return Scope(self.conversation, self.thread)


class Scope(NamedTuple):
    """A thread including its root message, or the channel excluding its threads."""

    conversation: ConversationKey
    thread: str


@dataclass(frozen=True, slots=True)
class Emission:
    """Planned announcement of a verdict on a message of `sender_id`, about one turn."""

    key: MessageKey
    sender_id: str
    turn_id: str
    agent_id: str


class ConversationStore(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Merge messages into the index (see `IndexedMessage.merged`), at most one per key, and commit.

        Returns the keys of added or changed messages.
        """
        ...

    async def places(self, keys: Collection[MessageKey]) -> Sequence[Place]:
        """Return the current and former positions of the stored messages among `keys`.

        Later messages may depend on them.
        A thread's root message also has a position in the thread.
        """
        ...

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        """Return, for each scope, the messages at these places and the `reach` messages before and after each place.

        Messages are unique and sorted by (at, message_id). Messages between distant places are missing. A thread
        includes its root message.
        """
        ...

    async def emitting(self, emissions: Collection[Emission]) -> None:
        """Note announcements before they are published, so that a later judgement knows what to retract.

        Messages whose sender id has changed are skipped, because an erasure has replaced the id.
        """
        ...

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        """Return True if the evaluation of any of these messages has increased since the message was read."""
        ...
