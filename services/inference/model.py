"""Rows of the message index, and the stamp that orders verdicts. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from contracts.detectors import DetectorVersion
from contracts.message_fields import MessageKey
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import Message


class ConversationKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


@dataclass(frozen=True)
class IndexedMessage:
    """A message with the content of its highest version and the position of its earliest version.

    Attributes:
        position: Sort key of the message in its conversation: the result of `contracts.versions.position_of` for its
            earliest version, whose time is `message.at`.
        user_type: Role of the writer, as named by the platform.
        evaluation: Number of message versions in the conversation, if the message was read to judge it; otherwise 0.
    """

    conversation: ConversationKey
    message: Message
    version: bytes
    position: bytes
    provenance: Provenance = NO_PROVENANCE
    user_type: str | None = None
    evaluation: int = 0

    @cached_property
    def thread(self) -> str:
        """The id of the message's thread, or an empty string if the message is in the channel."""
        return self.message.thread_id or ""

    @cached_property
    def key(self) -> MessageKey:
        return MessageKey(*self.conversation, self.message.message_id)

    def merged(self, other: IndexedMessage) -> IndexedMessage:
        """Merge this version with another version of the message.

        Events may omit the message replied to and the thread, so a value from either version is kept. If both versions
        have a value, the greater one is kept.

        Returns:
            The merged message, or this same object if nothing changes.
        """
        first, last = min(self, other, key=attrgetter("position")), max(self, other, key=attrgetter("version"))
        thread = max(self.thread, other.thread) or None
        reply_to = max(self.message.reply_to or "", other.message.reply_to or "") or None
        message = replace(last.message, at=first.message.at, reply_to=reply_to, thread_id=thread)
        if last.version == self.version and (message, first.position) == (self.message, self.position):
            return self
        return replace(last, message=message, position=first.position)


def stamp_of(version: DetectorVersion, evaluation: int) -> tuple[int, int, int]:
    """Return the sort key for the verdicts on a message, of which the highest is effective."""
    return version.release, version.mode, evaluation


class Scope(NamedTuple):
    """A thread including its root message, or a conversation's channel without its threads."""

    conversation: ConversationKey
    thread: str
