"""Rules for the versions of a message and its position in the conversation, used by all message indexes. No I/O.

A message may arrive several times: it may be redelivered or edited, or sent both as a message and as a reply. The
highest version (`version_of`) determines its content. The earliest version determines its position (`place_of`), so
that editing a question does not move it behind the answer. Neither depends on the order of arrival.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contracts.chat import ChatMessageIngested, ChatMessageReplyIngested
from contracts.posts import PostCommented, PostPublished

MessageEvent = ChatMessageIngested | ChatMessageReplyIngested | PostPublished | PostCommented
"""Event that contains a message: a message, a reply, a post or a comment."""

COPY: Final = b"\x00"
"""Version of a message that is known only from a copy in another event. Every other version is greater."""
_REPLY, _MESSAGE = b"\x01", b"\x02"
FROM_MESSAGES: Final = _MESSAGE
"""Bound between two kinds of versions: those from message events are greater, those from reply events are less."""


class LogPosition(NamedTuple):
    """Sort key of records, for events of the same time.

    Attributes:
        log_time: Time at which the record first appeared in the log, in microseconds.
    """

    log_time: int = 0
    partition: int = 0
    offset: int = 0


UNLOGGED: Final = LogPosition()
"""Position of an event that is not in the log."""


def message_in(event: MessageEvent) -> ChatMessageIngested:
    """Return the message that an event contains, as a message event.

    A message from a reply event has no turn and no user type. If an agent wrote the reply, its sender id also becomes
    the agent id.
    """
    if isinstance(event, ChatMessageIngested):
        return event
    if isinstance(event, PostPublished | PostCommented):
        return event.as_message
    return ChatMessageIngested(
        event_id=event.event_id,
        occurred_at=event.occurred_at,
        sequence=event.sequence,
        tenant=event.tenant,
        project=event.project,
        message_id=event.message_id,
        conversation_id=event.conversation_id,
        thread_id=event.thread_id,
        sender_id=event.sender_id,
        sender_type=event.sender_type,
        content=event.content,
        attachments=event.attachments,
        reply_to_message_id=event.original_message_id,
        agent_id=event.sender_id if event.sender_type == "agent" else None,
    )


def is_system_line(event: MessageEvent) -> bool:
    """Return True if the platform wrote the message, so that it is neither a person's nor an agent's."""
    return message_in(event).sender_type == "system"


def version_of(event: MessageEvent, logged: LogPosition = UNLOGGED) -> bytes:
    """Return a 37-byte sort key for the versions of a message, the highest of which wins.

    Versions from reply events sort below all others, because a reply has fewer fields. Versions from the same kind of
    event are ordered by occurredAt, then by sequence, with -1 for a missing one, and then by their position in the log.
    """
    rank = _REPLY if isinstance(event, ChatMessageReplyIngested) else _MESSAGE
    return rank + position_of(event, logged)


def position_of(event: MessageEvent, logged: LogPosition = UNLOGGED) -> bytes:
    """Return a 36-byte sort key for the messages of a conversation. A message has the lowest key of its versions.

    It consists of occurredAt, the sequence (-1 for a missing one) and the position in the log.
    """
    occurred_at, sequence = place_of(event)
    log_time, partition, offset = logged
    written = log_time.to_bytes(8) + partition.to_bytes(4) + offset.to_bytes(8)
    return occurred_at.to_bytes(8) + (sequence + 1).to_bytes(8) + written


def place_of(event: MessageEvent) -> tuple[int, int]:
    """Return the position of a message in its conversation: occurredAt in microseconds, and the sequence or -1."""
    return event.occurred_at, -1 if event.sequence is None else event.sequence


def same_source(first: bytes, other: bytes) -> bool:
    """Return True if both versions come from message events or both come from reply events."""
    return (first < FROM_MESSAGES) == (other < FROM_MESSAGES)
