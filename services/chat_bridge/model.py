"""Chat events as the bridge processes and stores them, and the feedback that they become. No I/O.

The message that an event replies or reacts to is called its original.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import uuid5

from contracts.base import PERSON, TEXT_LIMIT, Event, SenderType
from contracts.chat import (
    ChatMessageIngested,
    ChatMessageReactionIngested,
    ChatMessageReplyIngested,
    OriginalMessage,
)
from contracts.erasure import ERASURE_MARGIN, author_of
from contracts.exchange import ExchangeMessage, Position, has_text, question_of, thread_of
from contracts.feedback import FeedbackExplicitReceived, FeedbackReactionReceived, FeedbackReplyReceived
from contracts.headers import Headers
from contracts.ids import NAMESPACE, derived_id
from contracts.message_fields import MessageKey
from contracts.posts import About, PostReacted, about_in
from contracts.provenance import NO_PROVENANCE, Provenance, provenance_of
from contracts.topics import BY_NAME, EXPLICIT_RECEIVED, REACTION_RECEIVED, REPLY_RECEIVED, Topic
from contracts.versions import COPY, message_in, place_of, version_of
from servicekit.log.outcome import Outcome
from servicekit.log.records import Message, Received

UNLOGGED_POSITION: Final = Position(0)
"""Position of a message that is known only from a copy in another event, and not stored."""


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """Message in the index.

    A person's message is stored without its sender ('') and its content (None). Apart from the position, which is that
    of the earliest version, only the highest version of a message is stored.

    Attributes:
        content: The text of an agent's message, truncated to 10,000 characters.
        has_text: False if the message is empty or deleted.
        thread_id: None for a message outside any thread.
        question_message_id: For an answer, the message id of its question. None if the index did not contain the
            question when the answer was read. The index does not know people's names, so it cannot find the person whom
            the answer addresses by name.
        is_of_starter: True for a message in a thread by the person who began the thread. The event says so, because the
            index does not know people's ids.
    """

    key: MessageKey
    turn_id: str
    sender_id: str
    sender_type: SenderType
    agent_id: str | None
    content: str | None
    truncated: bool
    provenance: Provenance
    version: bytes
    reply_to: str | None = None
    thread_id: str | None = None
    question_message_id: str | None = None
    has_text: bool = True
    position: Position = UNLOGGED_POSITION
    is_of_starter: bool = False

    def merged(self, other: IndexedMessage) -> IndexedMessage:
        """Merge this version with another version of the message, in any order."""
        latest = other if other.version > self.version else self
        is_of_starter = self.is_of_starter or other.is_of_starter
        return replace(latest, position=min(self.position, other.position), is_of_starter=is_of_starter)

    @property
    def exchange_message(self) -> ExchangeMessage:
        """The parts of the message that decide which question an answer answers."""
        return ExchangeMessage(
            self.key.message_id,
            self.turn_id,
            self.thread_id or "",
            self.sender_id,
            self.sender_type == "human",
            self.has_text,
            self.position,
            self.reply_to,
            self.content or "",
        )

    def answering(self, candidates: Iterable[ExchangeMessage]) -> IndexedMessage:
        """Return a copy with the message id of its question. A person's message is returned unchanged.

        Args:
            candidates: People's messages of the conversation, among them those that `question_of` needs.
        """
        if self.sender_type != "agent":
            return self
        question = question_of(self.exchange_message, candidates)
        return replace(self, question_message_id=question.message_id if question else None)


class EventRefusal(NamedTuple):
    """A rejected event of a project, as its producer sees it: without content.

    Attributes:
        topic: Empty if the event names no known topic.
        event_id: Empty if it is invalid, or if a source dropped the event: such events share a row per reason.
        reason: The reason's short name.
        detail: The invalid field and the violated rule, or the source that dropped the event. May be empty.
    """

    tenant: str
    project: str
    topic: str
    event_id: str
    reason: str
    detail: str


class ParkedKey(NamedTuple):
    """Key of a parked event.

    `identity` is derived from the event's content (see `identity_of`).
    """

    tenant: str
    project: str
    topic: str
    identity: str


@dataclass(frozen=True, slots=True)
class ParkedEvent:
    """Reply or reaction that waits for its original message.

    Attributes:
        original: Key of the original message.
        value: The event as JSON.
        cause: Position of the event's record in the log.
        user_id: The person who caused the event. None for an agent.
        said_at: The event's time in microseconds, by which an erasure covers it.
        log_time: Time in microseconds at which the event was first written to the log.
        parked_at: Time in microseconds at which the event was parked.
    """

    key: ParkedKey
    original: MessageKey
    record_key: bytes | None
    value: bytes
    cause: str
    traceparent: str | None
    user_id: str | None
    said_at: int
    log_time: int
    parked_at: int

    @property
    def event(self) -> About:
        """The reply or reaction, parsed from `value`."""
        event = about_in(BY_NAME[self.key.topic].event.from_wire(self.value))
        assert event is not None
        return event


@dataclass(frozen=True, slots=True, eq=False)
class BatchedEvent:
    """A chat event of a batch, compared by identity.

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
        """The judgement, if it rates the conversation and not a message."""
        about = self.about
        return about if isinstance(about, ChatMessageReactionIngested) and about.message_id is None else None


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


def indexed(
    event: ChatMessageIngested | OriginalMessage,
    tenant: str,
    project: str,
    version: bytes,
    position: Position = UNLOGGED_POSITION,
) -> IndexedMessage:
    """Return the index row for a message.

    A message without a turn id gets its message id as turn id.
    """
    from_agent = event.sender_type == "agent"
    thread = thread_of(event.message_id, event.thread_id) if isinstance(event, ChatMessageIngested) else None
    reply_to = event.reply_to_message_id if isinstance(event, ChatMessageIngested) else None
    return IndexedMessage(
        key=MessageKey(tenant, project, event.conversation_id, event.message_id),
        turn_id=event.turn_id or event.message_id,
        sender_id=event.sender_id if from_agent else "",
        sender_type=event.sender_type,
        agent_id=(event.agent_id or event.sender_id) if from_agent else None,
        content=event.content[:TEXT_LIMIT] if from_agent else None,
        truncated=from_agent and len(event.content) > TEXT_LIMIT,
        provenance=provenance_of(event) if from_agent else NO_PROVENANCE,
        version=version,
        reply_to=reply_to if from_agent else None,
        thread_id=thread,
        has_text=has_text(event.content),
        position=position,
    )


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
    author = author_of(about)
    return ParkedEvent(
        key=ParkedKey(about.tenant, about.project, received.topic, identity_of(about)),
        original=original_key(about),
        record_key=received.raw.key,
        value=value if about.original is None else without_copy(received.event),
        cause=received.cause,
        traceparent=received.traceparent,
        user_id=author.user_id if author else None,
        said_at=min(about.occurred_at, received.first_log_time + ERASURE_MARGIN),
        log_time=received.first_log_time,
        parked_at=now,
    )


def original_key(event: About) -> MessageKey:
    """Return the key of the message that `event` replies or reacts to.

    A reply or reaction is always in the same conversation as its original.
    """
    message_id = event.original_message_id if isinstance(event, ChatMessageReplyIngested) else event.message_id
    return MessageKey(event.tenant, event.project, event.conversation_id, message_id or "")


def identity_of(event: About) -> str:
    """Return the identity of an event: a UUID (version 5) derived from its content.

    Events with the same id but different content have different identities. The copy of the original message is not
    included.
    """
    return str(uuid5(NAMESPACE, without_copy(event).decode()))


def without_copy(event: Event) -> bytes:
    """Return the event as JSON, without its copy of the original message.

    The copy may contain another person's words.
    """
    return event.model_dump_json(by_alias=True, exclude_none=True, exclude={"original"}).encode()


def _is_in_own_thread(about: About | None) -> bool:
    """Return True for a person's reply to its thread's root. Some chats send every message of a thread as one."""
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


Translated = FeedbackReplyReceived | FeedbackReactionReceived | FeedbackExplicitReceived
TOPIC_OF: dict[type[Translated], Topic] = {
    FeedbackReplyReceived: REPLY_RECEIVED,
    FeedbackReactionReceived: REACTION_RECEIVED,
    FeedbackExplicitReceived: EXPLICIT_RECEIVED,
}


def translate(event: About, original: IndexedMessage) -> Translated | Outcome:
    """Convert a reply or reaction to a feedback event.

    The feedback event's id is derived from the id and subject of `event`, so repeated conversions give the same event.

    Returns:
        The feedback event, or the outcome if the reply or reaction is ignored.
    """
    if original.sender_type != "agent" or original.agent_id is None or original.content is None:
        return Outcome.ignored("not_about_an_agent")
    author = event.sender_id if isinstance(event, ChatMessageReplyIngested) else event.user_id
    if author in (original.agent_id, original.sender_id):
        return Outcome.ignored("self_feedback")
    if isinstance(event, ChatMessageReplyIngested):
        return _reply(event, original, original.agent_id, original.content)
    if event.judgement is not None:
        return _judgement(event, original, original.agent_id)
    return _reaction(event, original, original.agent_id, original.content)


def message_of(event: Translated, headers: Headers) -> Message:
    """Return the Kafka record of a feedback event."""
    return Message.of(TOPIC_OF[type(event)], event, headers)


def _reply(
    event: ChatMessageReplyIngested, original: IndexedMessage, agent: str, content: str
) -> FeedbackReplyReceived | Outcome:
    if event.sender_type == "system":
        return Outcome.ignored("system_line")
    return FeedbackReplyReceived(
        **_about(event, original, agent, REPLY_RECEIVED),
        agent_message_content=content,
        truncated=original.truncated or len(event.content) > TEXT_LIMIT,
        message_id=event.message_id,
        reply_sender_id=event.sender_id,
        reply_sender_type=event.sender_type,
        reply_content=event.content[:TEXT_LIMIT],
    )


def _reaction(
    event: ChatMessageReactionIngested, original: IndexedMessage, agent: str, content: str
) -> FeedbackReactionReceived:
    return FeedbackReactionReceived(
        **_about(event, original, agent, REACTION_RECEIVED),
        agent_message_content=content,
        truncated=original.truncated,
        reaction_user_id=event.user_id,
        reaction_user_type=event.user_type or PERSON,
        emoji=event.emoji,
        action=event.action,
        replaces=event.replaces,
    )


def _judgement(event: ChatMessageReactionIngested, original: IndexedMessage, agent: str) -> FeedbackExplicitReceived:
    return FeedbackExplicitReceived(
        **_about(event, original, agent, EXPLICIT_RECEIVED),
        user_id=event.user_id,
        user_type=event.user_type or PERSON,
        reaction=event.judgement if event.action == "added" else None,
        text=event.text if event.action == "added" else None,
    )


def _about(event: About, original: IndexedMessage, agent: str, topic: Topic) -> dict[str, Any]:
    """Return the fields that are common to feedback events from replies, reactions and judgements."""
    return {
        "event_id": str(derived_id(event.tenant, event.project, topic.name, event.event_id, *_subject_of(event))),
        "occurred_at": event.occurred_at,
        "sequence": event.sequence,
        "tenant": event.tenant,
        "project": event.project,
        "conversation_id": event.conversation_id,
        "turn_id": original.turn_id,
        "agent_id": agent,
        "agent_message_id": original.key.message_id,
        "question_message_id": original.question_message_id,
        "thread_id": original.thread_id or thread_of(original.key.message_id, event.thread_id),
        **original.provenance.fields(),
    }


def _subject_of(event: About) -> tuple[str, ...]:
    """Return the ids of conversation, message and person, and of a reaction also the emoji or judgement and the action.

    The event id identifies the event only together with these values, because some chat services number the events of
    each conversation or person "1", "2" and so on.
    """
    if isinstance(event, ChatMessageReplyIngested):
        return event.conversation_id, event.message_id, event.sender_id
    reacted_with = event.emoji or event.judgement or ""
    return event.conversation_id, event.message_id or "", event.user_id, reacted_with, event.action
