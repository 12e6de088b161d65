"""Port of inference's conversation index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from contracts.detectors import precedence
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import Message

PLACES_KEPT: Final = 16
"""Earlier places that are remembered of a message, the latest ones."""


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
    """A message in its conversation: what the version that holds says, at the time of the earliest one.

    `stood_at` holds the times at which it stood before an earlier version came, the latest first; `stood_in` likewise
    the threads. `user_type` is the person's role as the platform names it.
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
        """The thread that it stands in; empty: the channel."""
        return self.message.thread_id or ""

    @cached_property
    def key(self) -> MessageKey:
        return MessageKey(*self.conversation, self.message.message_id)

    @property
    def said(self) -> tuple[object, ...]:
        """Return the fields that a verdict and its announcement may depend on."""
        return self.message, self.provenance, self.user_type

    def merged(self, other: IndexedMessage) -> IndexedMessage:
        """The message after another of its versions came; the very same object where that one adds nothing.

        Not every event names reply and thread, so what one names holds; of two the greater.
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
    """A message as the index holds it.

    `evaluation` is the number of message versions that its conversation holds, `epoch` the one that verdicts are given
    in. `emitted_turn_id` and
    `emitted_agent_id` say what a verdict on it was last announced for, None where none ever was.
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
    """Orders the verdicts on one message: the highest holds. `judged_by` is the detector's `precedence`."""

    epoch: int
    judged_by: str
    evaluation: int

    @classmethod
    def of(cls, placed: Placed, version: str) -> VerdictStamp:
        """Return the stamp of a verdict that the detector of this version gives on a message as it was read."""
        return cls(placed.epoch, precedence(version), placed.evaluation)


class Place(NamedTuple):
    """Position of a message in a thread of a conversation; an empty `thread` is the channel."""

    conversation: ConversationKey
    at: int
    message_id: str
    thread: str = ""

    @property
    def scope(self) -> Scope:
        """The thread."""
        return Scope(self.conversation, self.thread)


class Scope(NamedTuple):
    """A thread of a conversation with the message it hangs from, or the channel without what stands in its threads."""

    conversation: ConversationKey
    thread: str


@dataclass(frozen=True, slots=True)
class Emission:
    """A verdict on a message of `sender_id` is about to be announced for this turn."""

    key: MessageKey
    sender_id: str
    turn_id: str
    agent_id: str


class Store(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Merge messages, at most one per key, with what is held: see `IndexedMessage.merged`.

        Gives the keys that were added or changed. Committed on return.
        """
        ...

    async def places(self, keys: Collection[MessageKey]) -> Sequence[Place]:
        """Return the current and former positions of the known `keys`: messages behind them may depend on them.

        A message that a thread hangs from stands in that thread, too.
        """
        ...

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        """For each scope, in order, the messages at these places, with `reach` messages before and after each of them.

        In order of (at, message_id), each once. Between two places that are far apart messages are missing. With a
        thread comes the message it hangs from.
        """
        ...

    async def emitting(self, emissions: Collection[Emission]) -> None:
        """Note what is about to be announced, so that a later look that finds nothing knows what to retract.

        Nothing is noted of a message that has another sender by now: an erasure has replaced the id meanwhile.
        """
        ...

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        """Return True if any of these messages has a newer evaluation than the one read."""
        ...
