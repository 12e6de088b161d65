"""Every topic, once: subscriptions, topic creation, dead-letter names, schemas and docs derive from this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from contracts.base import Envelope
from contracts.chat import ChatMessageIngested, ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.feedback import (
    FeedbackCreated,
    FeedbackErasureConfirmed,
    FeedbackErasureRequested,
    FeedbackExplicitReceived,
    FeedbackInferredReceived,
    FeedbackReactionReceived,
    FeedbackReplyReceived,
    FeedbackSessionCreated,
)
from contracts.ids import conversation_key

Consumer = Literal[
    "chat_bridge",
    "feedback",
    "feedback_erasures",
    "feedback_turns",
    "inference",
    "inference_status",
    "reporting",
    "webhooks",
]
"""A consumer group's name: the service, and where it has two, what the second is for."""
OPTIONAL: frozenset[Consumer] = frozenset({"webhooks"})
"""Groups that nothing reads for unless a setting asks for it."""

DAY_MS = 86_400_000
FOREVER = -1


def _by_conversation(event: Any) -> str:
    return conversation_key(event.tenant, event.project, event.conversation_id)


def _by_user(event: FeedbackErasureRequested | FeedbackErasureConfirmed) -> str:
    return f"{event.tenant}/{event.user_id}"


def _by_session(event: FeedbackSessionCreated) -> str:
    return f"{event.tenant}/{event.session_id_opaque}"


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic.

    `key` makes the record key of an event. `retention_ms` is -1 for ever. `compacted` keeps the last record of
    each key. `consumers` are consumer groups; the first one dead-letters records that cannot be read, so that one
    bad record makes one letter.
    """

    name: str
    event: type[Envelope]
    key: Callable[[Any], str]
    key_name: str
    partitions: int
    retention_ms: int
    producer: str
    consumers: tuple[Consumer, ...]
    compacted: bool = False
    meaning: str = ""

    @property
    def dead_letters(self) -> str:
        return f"{self.name}.dlq"


def _conversation(
    name: str, event: type[Envelope], producer: str, consumers: tuple[Consumer, ...], meaning: str
) -> Topic:
    return Topic(name, event, _by_conversation, "conversation", 6, 7 * DAY_MS, producer, consumers, meaning=meaning)


CHAT_MESSAGE = _conversation(
    "chat.message.ingested",
    ChatMessageIngested,
    "chat services",
    ("chat_bridge", "inference", "reporting", "feedback_turns"),
    "a message was written",
)
CHAT_REPLY = _conversation(
    "chat.message.reply.ingested",
    ChatMessageReplyIngested,
    "chat services",
    ("chat_bridge", "inference", "reporting", "feedback_turns"),
    "a message was written as a reply to another",
)
CHAT_REACTION = _conversation(
    "chat.message.reaction.ingested",
    ChatMessageReactionIngested,
    "chat services",
    ("chat_bridge",),
    "an emoji was put on a message or taken away",
)
REPLY_RECEIVED = _conversation(
    "feedback.reply.received", FeedbackReplyReceived, "chat_bridge", ("feedback",), "somebody replied to an agent"
)
REACTION_RECEIVED = _conversation(
    "feedback.reaction.received",
    FeedbackReactionReceived,
    "chat_bridge",
    ("feedback",),
    "somebody reacted to an agent's message",
)
EXPLICIT_RECEIVED = _conversation(
    "feedback.explicit.received", FeedbackExplicitReceived, "feedback", ("feedback",), "a person judged a turn"
)
INFERRED_RECEIVED = _conversation(
    "feedback.inferred.received",
    FeedbackInferredReceived,
    "inference",
    ("feedback",),
    "a message was read as feedback on a turn",
)
ERASURE_REQUESTED = Topic(
    "feedback.erasure.requested",
    FeedbackErasureRequested,
    _by_user,
    "tenant/user",
    6,
    FOREVER,
    "feedback",
    ("feedback", "chat_bridge", "inference", "reporting", "feedback_erasures", "webhooks"),
    compacted=True,
    meaning="what a person said is to be erased",
)
ERASURE_CONFIRMED = Topic(
    "feedback.erasure.confirmed",
    FeedbackErasureConfirmed,
    _by_user,
    "tenant/user",
    6,
    7 * DAY_MS,
    "all services",
    ("feedback_erasures",),
    meaning="a service has removed what a person said from its store",
)
SESSION_CREATED = Topic(
    "feedback.session.created",
    FeedbackSessionCreated,
    _by_session,
    "session",
    6,
    7 * DAY_MS,
    "feedback",
    ("reporting", "webhooks"),
    meaning="a session was rated at its end",
)
FEEDBACK_CREATED = Topic(
    "feedback.created",
    FeedbackCreated,
    lambda event: str(event.feedback_id),
    "feedbackId",
    6,
    FOREVER,
    "feedback",
    ("reporting", "inference_status", "webhooks"),
    compacted=True,
    meaning="a feedback as it is now: created, updated or cleared",
)

TOPICS: tuple[Topic, ...] = (
    CHAT_MESSAGE,
    CHAT_REPLY,
    CHAT_REACTION,
    REPLY_RECEIVED,
    REACTION_RECEIVED,
    EXPLICIT_RECEIVED,
    INFERRED_RECEIVED,
    ERASURE_REQUESTED,
    ERASURE_CONFIRMED,
    SESSION_CREATED,
    FEEDBACK_CREATED,
)
BY_NAME = MappingProxyType({topic.name: topic for topic in TOPICS})
CHAT_TOPICS = (CHAT_MESSAGE, CHAT_REPLY, CHAT_REACTION)


FOREIGN = frozenset(topic.name for topic in CHAT_TOPICS)
"""Topics that others write to: nothing in their headers is believed."""


def consumed_by(group: Consumer) -> tuple[Topic, ...]:
    """The topics that `group` subscribes to, in the table's order."""
    return tuple(topic for topic in TOPICS if group in topic.consumers)
