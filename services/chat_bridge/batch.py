"""Batch of parsed chat events and their outcomes. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat_bridge.model import (
    IndexedMessage,
    ParkedEvent,
    ParkedKey,
    RatedConversation,
    identity_of,
    indexed,
    without_copy,
)
from chat_bridge.translate import Translated, message_of, translate
from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.exchange import Position
from contracts.message_fields import MessageKey
from contracts.posts import About, PostReacted, about_in
from contracts.versions import COPY, message_in, place_of, same_source, version_of
from servicekit import Message, Outcome, Received

PARKED = Outcome.parked("original_unknown")
NO_ANSWER = Outcome.ignored("no_answer")
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
    def ratings(self) -> list[RatedConversation]:
        """Judgements that name no message, in order of arrival."""
        ratings = []
        for event in self.events:
            if (about := _rating(event)) is not None:
                place = about.tenant, about.project, about.conversation_id
                ratings.append(RatedConversation(*place, about.agent_id or "", about.occurred_at))
        return ratings

    def rate(self, answers: Iterable[str | None]) -> None:
        """Set the messages of judgements that name none.

        Args:
            answers: The id of the last answer for each item of `self.ratings`, or None if there is none.
        """
        rated = [(event, about) for event in self.events if (about := _rating(event)) is not None]
        for (event, about), answer in zip(rated, answers, strict=True):
            if answer is None:
                event.outcome = NO_ANSWER
            else:
                event.about = about.model_copy(update={"message_id": answer})

    @property
    def originals(self) -> set[MessageKey]:
        """Keys of the original messages."""
        return {original_key(event.about) for event in self.events if event.about is not None and event.outcome is None}

    @property
    def follow_ups(self) -> set[MessageKey]:
        """Keys of people's replies to the root of their thread, which may follow an agent's answer in the thread."""
        return {event.message.key for event in self.events if event.message is not None and _is_in_own_thread(event)}

    def translate(self, known: Mapping[MessageKey, IndexedMessage], answers: Mapping[MessageKey, MessageKey]) -> None:
        """Convert replies and reactions to feedback events.

        An event whose original is neither in the index nor copied into the event gets no outcome.

        Args:
            known: Original messages and answers in the index, by key.
            answers: For each follow-up in a thread of one person and one agent, the key of the answer that it follows.
        """
        for event in self.events:
            if event.about is None or event.outcome is not None:
                continue
            original = known.get(original_key(event.about)) or event.copy
            if event.message is not None and (answer := answers.get(event.message.key)):
                original = known.get(answer, original)
            if original is None:
                continue
            result = translate(event.about, original)
            if isinstance(result, Translated):
                event.forwarded, event.outcome = result, Outcome.STORED
            else:
                event.outcome = result

    def park(self, now: int, held: Mapping[ParkedKey, str], room: Mapping[str, int]) -> list[ParkedEvent]:
        """Park the events that have no outcome yet, until their original messages arrive.

        Events for which a tenant has no room become dead letters.

        Args:
            now: The current time in microseconds.
            held: For each key, the log position of the event that is already parked under it.
            room: The number of bytes that each tenant may still park.

        Returns:
            The parked events to store, at most one per key.
        """
        left = dict(room)
        first: dict[ParkedKey, ParkedEvent] = {}
        for event in self.undecided:
            parked = _parked(event, now)
            if parked.key not in held and parked.key not in first:
                if left[parked.key.tenant] < len(parked.value):
                    event.outcome = PARKING_FULL
                    continue
                left[parked.key.tenant] -= len(parked.value)
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
    return MessageKey(event.tenant, event.project, event.conversation_id, message_id or "")


def _rating(event: BatchedEvent) -> ChatMessageReactionIngested | None:
    """Return a judgement that names no message, or None for any other event."""
    about = event.about
    return about if isinstance(about, ChatMessageReactionIngested) and about.message_id is None else None


def parked_keys(events: Iterable[BatchedEvent]) -> set[ParkedKey]:
    """Return the keys under which the events would be parked."""
    return {_parked_key(event) for event in events}


def _read(received: Received[Any]) -> BatchedEvent:
    event, about = received.event, about_in(received.event)
    if isinstance(event, ChatMessageReactionIngested | PostReacted):
        return BatchedEvent(received, about=about, copy=_copy_in(about))
    position = Position(*place_of(event), received.first_log_time, received.raw.coordinates.offset)
    message = indexed(message_in(event), event.tenant, event.project, version_of(event, received.position), position)
    batched = BatchedEvent(received, message, about, _copy_in(about))
    if _is_in_own_thread(batched) and event.original is not None:
        batched.message = replace(message, is_of_starter=event.original.sender_id == event.sender_id)
    return batched


def _is_in_own_thread(event: BatchedEvent) -> bool:
    """Return True for a person's reply to the root of its thread, as some chats send every message of a thread."""
    about = event.about
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
