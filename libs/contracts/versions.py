"""Order of the versions of a message, and the position of the message. All message indexes use these rules. Pure.

The same message may arrive several times: redelivered, edited, or both as a message event and as a reply event. The
greatest version by `version_of` determines the content. The earliest version determines the position (`place_of`), so
that an edited question does not move behind its answer. Neither depends on the order of arrival.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final

from contracts.chat import ChatMessageIngested, ChatMessageReplyIngested
from contracts.posts import PostCommented, PostPublished

MessageEvent = ChatMessageIngested | ChatMessageReplyIngested | PostPublished | PostCommented
"""Event that contains a message: a message, a reply, a post or a comment."""

COPY: Final = b"\x00"
"""Version of a message that is known only from a copy in another event. Every other version is greater."""
_REPLY, _MESSAGE = b"\x01", b"\x02"
FROM_MESSAGES: Final = _MESSAGE
"""Bound between kinds of events. Versions from message events are greater, versions from reply events are less."""
_ENVELOPE: Final = frozenset({"event_id", "occurred_at", "sequence", "tenant", "project", "version"})
_SAID: Final = tuple(name for name in ChatMessageIngested.model_fields if name not in _ENVELOPE)
_VALUES: Final = attrgetter(*_SAID)
_OPENED: Final = tuple(f"({name!r}, " for name in _SAID)


def message_in(event: MessageEvent) -> ChatMessageIngested:
    """Return the message that `event` contains.

    A message from a reply event has no turn and no user type. If an agent sent it, the sender id is its agent id.
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


def version_of(event: MessageEvent) -> bytes:
    """Return 25 bytes that order the versions of one message. The greatest version counts.

    Versions from reply events are less than all others, because replies have fewer fields. Among events of the same
    kind, the greater (occurredAt, sequence) is greater; a missing sequence is less than 0. Ties are broken by a hash of
    the content, so that all indexes choose the same version. Versions with equal content and time are equal.
    """
    rank = _REPLY if isinstance(event, ChatMessageReplyIngested) else _MESSAGE
    occurred_at, sequence = place_of(event)
    return rank + occurred_at.to_bytes(8) + (sequence + 1).to_bytes(8) + _digest(message_in(event))


def place_of(event: MessageEvent) -> tuple[int, int]:
    """Return the position of the event's message: occurredAt in microseconds, and the sequence (-1 if it has none)."""
    return event.occurred_at, -1 if event.sequence is None else event.sequence


def same_source(one: bytes, other: bytes) -> bool:
    """Return True if both versions come from message events, or both from reply events."""
    return (one < FROM_MESSAGES) == (other < FROM_MESSAGES)


def _digest(message: ChatMessageIngested) -> bytes:
    """Return an 8-byte hash of the message's fields.

    Empty fields are omitted, so that adding an optional field to the model does not change the hash of stored messages.
    """
    return blake2b(_written(message).encode(), digest_size=8).digest()


def _written(message: ChatMessageIngested) -> str:
    """Return `repr` of the list of (name, value) of all fields that are not None.

    The text is built directly, because that is faster.
    """
    values: tuple[Any, ...] = _VALUES(message)
    pairs = [
        f"{opened}{sorted(value.items()) if type(value) is dict else value!r})"
        for opened, value in zip(_OPENED, values, strict=True)
        if value is not None
    ]
    return f"[{', '.join(pairs)}]"
