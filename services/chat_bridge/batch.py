"""Batch of parsed chat events and their outcomes. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat_bridge.model import (
    IndexedMessage,
    MessageKey,
    ParkedEvent,
    ParkedKey,
    identity_of,
    indexed,
    without_copy,
)
from chat_bridge.translate import Translated, message_of, translate
from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.exchange import Position
from contracts.posts import About, PostReacted, about_in
from contracts.versions import COPY, message_in, place_of, same_source, version_of
from servicekit import Message, Outcome, Received

PARKED = Outcome.parked("original_unknown")
PARKING_FULL = Outcome.dead_lettered("parking_full")


@dataclass(slots=True)
class BatchedEvent:
    """A chat event and its processing state.

    The message that an event replies or reacts to is called its original.

    Attributes:
        message: The message or post. None for a reaction.
        about: The reply, comment or reaction. None for any other message or post.
        copy: The copy of the original that the event contains. None if there is none, or if it is a copy of a different
            message.
        forwarded: The derived feedback event, once the event has been translated.
        parked: The event as stored until its original arrives, once it has been parked.
        outcome: None until the outcome is known.
    """

    received: Received[Any]
    message: IndexedMessage | None = None
    about: About | None = None
    copy: IndexedMessage | None = None
    forwarded: Translated | None = None
    parked: ParkedEvent | None = None
    outcome: Outcome | None = None


@dataclass(slots=True)
class Batch:
    """The events of a batch, in order of arrival.

    `changed` contains the keys of the indexed messages that these events have added or changed.
    """

    events: list[BatchedEvent]
    changed: set[MessageKey] = field(default_factory=set)

    @classmethod
    def of(cls, records: Sequence[Received[Any]]) -> Batch:
        return cls([_read(received) for received in records])

    @property
    def messages(self) -> list[IndexedMessage]:
        """The latest version of each message in the batch, at the position of the earliest one."""
        latest: dict[MessageKey, IndexedMessage] = {}
        for message in (event.message for event in self.events if event.message is not None):
            held = latest.get(message.key)
            latest[message.key] = message if held is None else held.merged(message)
        return list(latest.values())

    def indexed(self, changed: set[MessageKey]) -> None:
        """Set the outcomes of messages that are not replies, after all messages were indexed.

        Args:
            changed: Keys of the messages that were added to the index or changed in it.
        """
        self.changed = changed
        latest: dict[MessageKey, IndexedMessage] = {}
        for event in self.events:
            if (message := event.message) is None:
                continue
            held = latest.get(message.key)
            later = held is None or message.version > held.version
            news = held is None or (later and _differ(message, held))
            if later:
                latest[message.key] = message
            if event.about is None:
                event.outcome = Outcome.STORED if news and message.key in changed else Outcome.UNCHANGED

    @property
    def wanted(self) -> set[MessageKey]:
        """Keys of the original messages to look up, because the reply or reaction contains no copy."""
        return {original_key(event.about) for event in self.events if event.about is not None and event.copy is None}

    @property
    def copies(self) -> list[IndexedMessage]:
        """The copies of original messages that the replies and reactions contain, in order of arrival."""
        return [event.copy for event in self.events if event.copy is not None]

    def place(self, copies: Iterable[IndexedMessage]) -> None:
        """Replace the copies of original messages.

        Args:
            copies: One replacement for each item of `self.copies`, in the same order.
        """
        for event, copy in zip((one for one in self.events if one.copy is not None), copies, strict=True):
            event.copy = copy

    def translate(self, known: Mapping[MessageKey, IndexedMessage]) -> None:
        """Convert replies and reactions to feedback events.

        If `known` does not contain the original, and the event contains no copy of it, the event gets no outcome.

        Args:
            known: Original messages by key.
        """
        for event in self.events:
            if event.about is None:
                continue
            original = event.copy or known.get(original_key(event.about))
            if original is None:
                continue
            result = translate(event.about, original)
            if isinstance(result, Translated):
                event.forwarded, event.outcome = result, Outcome.STORED
            else:
                event.outcome = result

    def park(self, now: int, held: Mapping[ParkedKey, str], room: Mapping[str, int]) -> list[ParkedEvent]:
        """Park the events that have no outcome yet, until their original messages arrive.

        If a tenant may not park any more events, its remaining events become dead letters.

        Args:
            now: The current time in microseconds.
            held: For each key, the log position of the event that is already parked under it.
            room: The number of events that each tenant may still park.

        Returns:
            The parked events to store, at most one per key.
        """
        left = dict(room)
        first: dict[ParkedKey, ParkedEvent] = {}
        for event in self.undecided:
            parked = _parked(event, now)
            if parked.key not in held and parked.key not in first:
                if left[parked.key.tenant] <= 0:
                    event.outcome = PARKING_FULL
                    continue
                left[parked.key.tenant] -= 1
                first[parked.key] = parked
            event.parked = parked
        return list(first.values())

    def parked_under(self, holders: Mapping[ParkedKey, str]) -> None:
        """Set the outcomes of the parked events.

        If the store holds another event under the same key, this event is a duplicate, and its outcome is UNCHANGED.

        Args:
            holders: For each key, the log position of the event that is stored under it.
        """
        for event in self.events:
            if (parked := event.parked) is not None:
                event.outcome = PARKED if holders.get(parked.key) == parked.cause else Outcome.UNCHANGED

    def released(self, became: Mapping[tuple[ParkedKey, str], Outcome]) -> None:
        """Set the final outcomes of parked events whose original messages have arrived.

        Args:
            became: The outcomes by key and cause.
        """
        for event in self.events:
            if (parked := event.parked) is not None:
                event.outcome = became.get((parked.key, parked.cause), event.outcome)

    @property
    def undecided(self) -> list[BatchedEvent]:
        return [event for event in self.events if event.outcome is None]

    @property
    def awaited(self) -> set[MessageKey]:
        """Keys of the original messages that the parked events in this batch are waiting for."""
        return {event.parked.original for event in self.events if event.parked is not None}

    @property
    def derived(self) -> list[Message]:
        """Kafka records for the derived feedback events, with headers derived from those of the chat events."""
        return [
            message_of(event.forwarded, event.received.derived_headers)
            for event in self.events
            if event.forwarded is not None
        ]

    @property
    def outcomes(self) -> list[Outcome]:
        for event in self.undecided:
            raise AssertionError(f"{event.received.cause} ended without an outcome")
        return [event.outcome for event in self.events if event.outcome is not None]


def original_key(event: About) -> MessageKey:
    """Return the key of the message that `event` replies or reacts to.

    A reply or reaction is always in the same conversation as its original.
    """
    message_id = event.original_message_id if isinstance(event, ChatMessageReplyIngested) else event.message_id
    return MessageKey(event.tenant, event.project, event.conversation_id, message_id)


def parked_keys(events: Iterable[BatchedEvent]) -> set[ParkedKey]:
    """Return the keys under which the events would be parked."""
    return {_parked_key(event) for event in events}


def _read(received: Received[Any]) -> BatchedEvent:
    event, about = received.event, about_in(received.event)
    if isinstance(event, ChatMessageReactionIngested | PostReacted):
        return BatchedEvent(received, about=about, copy=_copy_in(about))
    position = Position(*place_of(event), received.first_log_time, received.raw.coordinates.offset)
    message = indexed(message_in(event), event.tenant, event.project, version_of(event, received.position), position)
    return BatchedEvent(received, message, about, _copy_in(about))


def _copy_in(event: About | None) -> IndexedMessage | None:
    """Return the copy of the original message that an event contains.

    Returns None if there is no copy, or if it is a copy of a different message.
    """
    if event is None or event.original is None:
        return None
    copy = indexed(event.original, event.tenant, event.project, COPY)
    return copy if copy.key == original_key(event) else None


def _parked_key(event: BatchedEvent) -> ParkedKey:
    assert event.about is not None
    return ParkedKey(event.about.tenant, event.about.project, event.received.topic, identity_of(event.about))


def _parked(event: BatchedEvent, now: int) -> ParkedEvent:
    """Convert an event to the form in which it is parked.

    The copy of the original message is removed, because it may contain another person's words.
    """
    received = event.received
    value = received.raw.value or b""
    assert event.about is not None
    return ParkedEvent(
        key=_parked_key(event),
        original=original_key(event.about),
        record_key=received.raw.key,
        value=value if event.about.original is None and not received.dropped else without_copy(received.event),
        cause=received.cause,
        traceparent=received.traceparent,
        log_time=received.first_log_time,
        parked_at=now,
    )


def _differ(one: IndexedMessage, other: IndexedMessage) -> bool:
    return one.said != other.said or not same_source(one.version, other.version)


def tenants_of(events: Collection[BatchedEvent]) -> set[str]:
    """Return the tenants of the events."""
    return {event.received.event.tenant for event in events}
