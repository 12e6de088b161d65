"""Order of a message's versions and its position: the rule that all message indexes share. Pure.

The same message may arrive several times: delivered again, edited, or once as a message and once as a reply event. Of
its versions the greatest by `version_of` holds, and it stands where its earliest version stood (`place_of`): an edited
question does not move behind its answer. Both depend on the set of versions alone, never on their order of arrival.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final

from contracts.chat import ChatMessageIngested, ChatMessageReplyIngested

MessageEvent = ChatMessageIngested | ChatMessageReplyIngested
"""An event that carries a message: its own, or the one which says that it was written as a reply."""

COPY: Final = b"\x00"
"""The version of a copy that neither event carried, from elsewhere: any event says more."""
_REPLY, _MESSAGE = b"\x01", b"\x02"
_ENVELOPE: Final = frozenset({"event_id", "occurred_at", "sequence", "tenant", "project", "version"})
_SAID: Final = tuple(name for name in ChatMessageIngested.model_fields if name not in _ENVELOPE)
_VALUES: Final = attrgetter(*_SAID)
_OPENED: Final = tuple(f"({name!r}, " for name in _SAID)


def message_in(event: MessageEvent) -> ChatMessageIngested:
    """The message that `event` carries.

    A reply event does not say the turn or what kind of user wrote; an agent that writes one is named by its sender id.
    """
    if isinstance(event, ChatMessageIngested):
        return event
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
    """25 bytes that order the versions of one message; the greatest holds.

    The message's own event comes before a reply event's copy of it, which says less; then the later one by
    (occurredAt, sequence), a missing sequence before 0. Of different versions of one moment a hash of what they say
    decides, so that every index picks the same one. Two versions that say the same at the same moment are equal.
    """
    rank = _MESSAGE if isinstance(event, ChatMessageIngested) else _REPLY
    occurred_at, sequence = place_of(event)
    return rank + occurred_at.to_bytes(8) + (sequence + 1).to_bytes(8) + _digest(message_in(event))


def place_of(event: MessageEvent) -> tuple[int, int]:
    """Return the position of the event's message: occurredAt in microseconds, and its sequence, -1 if it has none."""
    return event.occurred_at, -1 if event.sequence is None else event.sequence


def same_source(one: bytes, other: bytes) -> bool:
    """Return True if two versions come from the same kind of event."""
    return one[:1] == other[:1]


def _digest(message: ChatMessageIngested) -> bytes:
    """8 bytes that stand for what a message says. What is not said is left out, so a field added later alters none."""
    return blake2b(_written(message).encode(), digest_size=8).digest()


def _written(message: ChatMessageIngested) -> str:
    """The `repr` of the list of (name, value) of all that is said, put together by hand: this runs for every record."""
    values: tuple[Any, ...] = _VALUES(message)
    pairs = [
        f"{opened}{sorted(value.items()) if type(value) is dict else value!r})"
        for opened, value in zip(_OPENED, values, strict=True)
        if value is not None
    ]
    return f"[{', '.join(pairs)}]"
