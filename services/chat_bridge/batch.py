"""Parsed chat events of a batch, and the rules for their outcomes. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chat_bridge.model import (
    IndexedMessage,
    ParkedEvent,
    ParkedKey,
    identity_of,
    indexed,
    without_copy,
)
from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.exchange import Position
from contracts.message_fields import MessageKey
from contracts.posts import About, PostReacted, about_in
from contracts.versions import COPY, message_in, place_of, same_source, version_of
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received

PARKED = Outcome.parked("original_unknown")
NO_ANSWER = Outcome.ignored("no_answer")
PARKING_FULL = Outcome.dead_lettered("parking_full")


@dataclass(frozen=True, slots=True, eq=False)
class BatchedEvent:
    """A chat event of a batch. Two objects are equal only if they are the same one.

    The message that an event replies or reacts to is called its original.

    Attributes:
        message: The message or post. None for a reaction.
        about: The reply, comment or reaction. None for any other message or post.
        copy: The copy of the original that the event contains. None if there is none, or if it is a copy of a different
            message.
    """

    received: Received[Any]
    message: IndexedMessage | None = None
    about: About | None = None
    copy: IndexedMessage | None = None

    @property
    def rating(self) -> ChatMessageReactionIngested | None:
        """The judgement, if it names no message."""
        about = self.about
        return about if isinstance(about, ChatMessageReactionIngested) and about.message_id is None else None


Outcomes = Mapping[BatchedEvent, Outcome]


def batched(received: Received[Any]) -> BatchedEvent:
    """Return the event with the index row of its message, and the copy of its original."""
    event, about = received.event, about_in(received.event)
    if isinstance(event, ChatMessageReactionIngested | PostReacted):
        return BatchedEvent(received, about=about, copy=_copy_in(about))
    position = Position(*place_of(event), received.first_log_time, received.raw.coordinates.offset)
    message = indexed(message_in(event), event.tenant, event.project, version_of(event, received.position), position)
    if _is_in_own_thread(about) and event.original is not None:
        message = replace(message, is_of_starter=event.original.sender_id == event.sender_id)
    return BatchedEvent(received, message, about, _copy_in(about))


def latest_versions(events: Iterable[BatchedEvent]) -> list[IndexedMessage]:
    """Return the latest version of each message in the events, at the position of the earliest one."""
    latest: dict[MessageKey, IndexedMessage] = {}
    for message in (event.message for event in events if event.message is not None):
        previous = latest.get(message.key)
        latest[message.key] = message if previous is None else previous.merged(message)
    return list(latest.values())


def message_outcomes(events: Iterable[BatchedEvent], changed: Collection[MessageKey]) -> Outcomes:
    """Return the outcomes of the messages that are not replies.

    Args:
        events: The events in order of arrival.
        changed: Keys of the messages that were added to the index or changed in it.
    """
    outcomes: dict[BatchedEvent, Outcome] = {}
    latest: dict[MessageKey, IndexedMessage] = {}
    for event in events:
        if (message := event.message) is None:
            continue
        previous = latest.get(message.key)
        is_later = previous is None or message.version > previous.version
        is_news = previous is None or (is_later and _differ(message, previous))
        if is_later:
            latest[message.key] = message
        if event.about is None:
            outcomes[event] = Outcome.STORED if is_news and message.key in changed else Outcome.UNCHANGED
    return outcomes


def follow_ups(events: Iterable[BatchedEvent]) -> set[MessageKey]:
    """Return the keys of people's replies to the root of their thread, which may follow an agent's answer in it."""
    return {event.message.key for event in events if event.message is not None and _is_in_own_thread(event.about)}


def parked_event(event: BatchedEvent, now: int) -> ParkedEvent:
    """Convert a reply or reaction to the form in which it is parked at `now` (microseconds).

    The copy of the original message is removed, because it may contain another person's words.
    """
    received, about = event.received, event.about
    value = received.raw.value or b""
    assert about is not None
    return ParkedEvent(
        key=ParkedKey(about.tenant, about.project, received.topic, identity_of(about)),
        original=original_key(about),
        record_key=received.raw.key,
        value=value if about.original is None and not received.dropped else without_copy(received.event),
        cause=received.cause,
        traceparent=received.traceparent,
        log_time=received.first_log_time,
        parked_at=now,
    )


def fitting(waiting: Iterable[ParkedEvent], room: Mapping[str, int]) -> list[ParkedEvent]:
    """Return the first event of each key, except those for which their tenant has no room.

    Args:
        waiting: Events that are not parked yet.
        room: The number of bytes that each tenant may still park.
    """
    left = dict(room)
    first: dict[ParkedKey, ParkedEvent] = {}
    for parked in waiting:
        if parked.key not in first and len(parked.value) <= left[parked.key.tenant]:
            left[parked.key.tenant] -= len(parked.value)
            first[parked.key] = parked
    return list(first.values())


def original_key(event: About) -> MessageKey:
    """Return the key of the message that `event` replies or reacts to.

    A reply or reaction is always in the same conversation as its original.
    """
    message_id = event.original_message_id if isinstance(event, ChatMessageReplyIngested) else event.message_id
    return MessageKey(event.tenant, event.project, event.conversation_id, message_id or "")


def _is_in_own_thread(about: About | None) -> bool:
    """Return True for a person's reply to the root of its thread, as some chats send every message of a thread."""
    return (
        isinstance(about, ChatMessageReplyIngested)
        and about.sender_type == "human"
        and about.thread_id == about.original_message_id
    )


def _copy_in(event: About | None) -> IndexedMessage | None:
    """Return the copy of the original message that an event contains.

    Returns None if there is no copy, or if it is a copy of a different message.
    """
    if event is None or event.original is None:
        return None
    copy = indexed(event.original, event.tenant, event.project, COPY)
    return copy if copy.key == original_key(event) else None


def _differ(message: IndexedMessage, other: IndexedMessage) -> bool:
    return message.said != other.said or not same_source(message.version, other.version)
