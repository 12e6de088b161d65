"""Table of all topics, from which subscriptions, topic creation, dead-letter names, schemas and docs are derived."""

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
    FeedbackTrainingChosen,
    PersonRequest,
)
from contracts.ids import conversation_key
from contracts.posts import PostCommented, PostPublished, PostReacted

Consumer = Literal[
    "chat_bridge",
    "feedback",
    "feedback_erasures",
    "inference",
    "inference_status",
    "reporting",
    "webhooks",
]
"""Name of a consumer group: the service, and for a service with several groups, the group's purpose."""
OPTIONAL: frozenset[Consumer] = frozenset({"webhooks"})
"""Consumer groups that exist only if a setting enables them."""

DAY_MS = 86_400_000
FOREVER = -1
DEAD_LETTER_PARTITIONS = 1
"""Number of partitions of each dead-letter topic."""
KAFKA_PARTITIONS = 24
"""Default number of partitions of a topic that is created in the operator's own Kafka cluster.

Each partition is read by one process of a service. 2, 3, 4, 6, 8, 12 or 24 processes share 24 partitions evenly.
"""


def _by_conversation(event: Any) -> str:
    return conversation_key(event.tenant, event.project, event.conversation_id)


def _by_user(event: PersonRequest | FeedbackErasureConfirmed) -> str:
    return f"{event.tenant}/{event.user_id}"


def _by_session(event: FeedbackSessionCreated) -> str:
    return f"{event.tenant}/{event.session_id_opaque}"


@dataclass(frozen=True, slots=True)
class Topic:
    """Kafka topic with its event model, configuration, producer and consumers.

    Attributes:
        event: Model of the events.
        key: Function that returns the record key of an event.
        key_name: Description of the key.
        producer: Name of the service or program that writes to the topic.
        consumers: Consumer groups. Only the first one writes a dead letter for a record that cannot be parsed, so that
            there is one dead letter per record.
        meaning: Description of the topic's events.
        retention_ms: Retention time in milliseconds, or FOREVER.
        partitions: Number of partitions in the in-process log. In your own Kafka, a topic may have any number
            (`KAFKA_PARTITIONS`).
    """

    name: str
    event: type[Envelope]
    key: Callable[[Any], str]
    key_name: str
    producer: str
    consumers: tuple[Consumer, ...]
    meaning: str
    retention_ms: int = 7 * DAY_MS
    partitions: int = 6

    @property
    def compacted(self) -> bool:
        """True if the topic keeps the last record of each key without a time limit.

        Only the tombstones of `feedback.created` have a meaning for consumers (`FeedbackErased`). Tombstones of other
        topics have the outcome `tombstone` and reach no handler.
        """
        return self.retention_ms == FOREVER

    @property
    def dead_letters(self) -> str:
        return f"{self.name}.dlq"


def _conversation(
    name: str, event: type[Envelope], producer: str, consumers: tuple[Consumer, ...], meaning: str
) -> Topic:
    return Topic(name, event, _by_conversation, "conversation", producer, consumers, meaning)


CHAT_MESSAGE = _conversation(
    "chat.message.ingested",
    ChatMessageIngested,
    "chat services",
    ("chat_bridge", "inference", "reporting", "feedback"),
    "a message was written",
)
CHAT_REPLY = _conversation(
    "chat.message.reply.ingested",
    ChatMessageReplyIngested,
    "chat services",
    ("chat_bridge", "inference", "reporting", "feedback"),
    "a message was written as a reply to another",
)
CHAT_REACTION = _conversation(
    "chat.message.reaction.ingested",
    ChatMessageReactionIngested,
    "chat services",
    ("chat_bridge",),
    "an emoji was put on a message or removed, or a message was judged",
)
POST_PUBLISHED = _conversation(
    "post.published",
    PostPublished,
    "services with posts",
    ("chat_bridge", "reporting", "feedback"),
    "a post was published",
)
POST_COMMENTED = _conversation(
    "post.commented",
    PostCommented,
    "services with posts",
    ("chat_bridge", "reporting", "feedback"),
    "a comment was written on a post or on another comment",
)
POST_REACTED = _conversation(
    "post.reacted",
    PostReacted,
    "services with posts",
    ("chat_bridge",),
    "an emoji was put on a post or a comment, or removed",
)
REPLY_RECEIVED = _conversation(
    "feedback.reply.received", FeedbackReplyReceived, "chat_bridge", ("feedback",), "an agent's message got a reply"
)
REACTION_RECEIVED = _conversation(
    "feedback.reaction.received",
    FeedbackReactionReceived,
    "chat_bridge",
    ("feedback",),
    "an emoji was put on an agent's message or removed",
)
EXPLICIT_RECEIVED = _conversation(
    "feedback.explicit.received",
    FeedbackExplicitReceived,
    "feedback and chat_bridge",
    ("feedback",),
    "a person judged a turn",
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
    "feedback",
    ("feedback", "chat_bridge", "inference", "reporting", "feedback_erasures", "webhooks"),
    "a person's messages and feedback must be erased",
    FOREVER,
)
TRAINING_CHOSEN = Topic(
    "feedback.training.chosen",
    FeedbackTrainingChosen,
    _by_user,
    "tenant/user",
    "feedback",
    ("feedback", "reporting"),
    "training on a person's data was forbidden or allowed",
    FOREVER,
)
ERASURE_CONFIRMED = Topic(
    "feedback.erasure.confirmed",
    FeedbackErasureConfirmed,
    _by_user,
    "tenant/user",
    "all services",
    ("feedback_erasures",),
    "a service has erased a person's data from its store",
)
SESSION_CREATED = Topic(
    "feedback.session.created",
    FeedbackSessionCreated,
    _by_session,
    "session",
    "feedback",
    ("reporting", "webhooks"),
    "a session was rated at its end",
)
FEEDBACK_CREATED = Topic(
    "feedback.created",
    FeedbackCreated,
    lambda event: str(event.feedback_id),
    "feedbackId",
    "feedback",
    ("reporting", "inference_status", "webhooks"),
    "a feedback record was created, updated or cleared",
    FOREVER,
)

TOPICS: tuple[Topic, ...] = (
    CHAT_MESSAGE,
    CHAT_REPLY,
    CHAT_REACTION,
    POST_PUBLISHED,
    POST_COMMENTED,
    POST_REACTED,
    REPLY_RECEIVED,
    REACTION_RECEIVED,
    EXPLICIT_RECEIVED,
    INFERRED_RECEIVED,
    ERASURE_REQUESTED,
    TRAINING_CHOSEN,
    ERASURE_CONFIRMED,
    SESSION_CREATED,
    FEEDBACK_CREATED,
)
BY_NAME = MappingProxyType({topic.name: topic for topic in TOPICS})
COMPACTED = frozenset(topic.name for topic in TOPICS if topic.compacted)
"""Topics that keep the last record of each key in each partition."""
CHAT_TOPICS = (CHAT_MESSAGE, CHAT_REPLY, CHAT_REACTION)
IN_LOG_ORDER = MappingProxyType({topic.name: rank for rank, topic in enumerate(CHAT_TOPICS)})
"""Rank of topics with events that refer to each other. An event refers only to events of the same or a lower rank.

A group reads equally numbered partitions of these topics in log time order (`servicekit/log/fetch.py`).
"""
POST_TOPICS = (POST_PUBLISHED, POST_COMMENTED, POST_REACTED)
INBOUND_TOPICS = CHAT_TOPICS + POST_TOPICS

FOREIGN = frozenset(topic.name for topic in INBOUND_TOPICS)
"""Topics that other programs write to. The headers of their records are not trusted."""


def consumed_by(group: Consumer) -> tuple[Topic, ...]:
    """Return the topics that a consumer group subscribes to, in the order of the table."""
    return tuple(topic for topic in TOPICS if group in topic.consumers)
