"""Functions that create chat events.

Each function returns a `ChatEvent`. It can be sent over HTTP (`client.ingest([event.payload, ...])`, or
`publish_over_http`), or with any Kafka producer by passing `event.topic`, `event.key` and `event.value`.

Event ids and record keys are deterministic, so sending an event again is harmless.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypedDict, Unpack
from uuid import NAMESPACE_URL, uuid5

from agent_feedback_kit.json_text import json_bytes, replace_surrogates

MESSAGE = "chat.message.ingested"
REPLY = "chat.message.reply.ingested"
REACTION = "chat.message.reaction.ingested"
SenderType = Literal["human", "agent"]
ValidationOutcome = Literal["APPROVE", "REVISE", "RETRY", "FAIL"]


@dataclass(frozen=True, slots=True)
class Channel:
    """A conversation in a chat.

    All events of a conversation have the same record key and therefore stay in order.
    """

    tenant: str
    project: str
    conversation_id: str

    @property
    def key(self) -> bytes:
        return replace_surrogates(f"{self.tenant}/{self.project}/{self.conversation_id}").encode()


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """A chat event, with its JSON object for HTTP (`payload`) and the value of its Kafka record (`value`)."""

    topic: str
    key: bytes
    payload: Mapping[str, Any] = field(repr=False)

    @property
    def value(self) -> bytes:
        fields = {name: value for name, value in self.payload.items() if name != "topic"}
        return json_bytes(fields)


class MessageFields(TypedDict, total=False):
    """Optional fields of a message. A field that is None is left out."""

    agent_id: str | None
    """The agent, if an agent wrote the message."""
    turn_id: str | None
    """The turn that the message belongs to."""
    thread_id: str | None
    """The thread that the message belongs to."""
    user_type: str | None
    """The platform's own name for the author's role."""
    reply_to_message_id: str | None
    """The message that this one answers."""
    attachments: Sequence[Mapping[str, str]]
    """At most 50 attachments, such as `{"type": "image", "url": "https://…"}`."""
    intent: str | None
    """The intent that the platform recognised."""
    strategy: str | None
    """The agent's strategy for the answer."""
    validation_outcome: ValidationOutcome | None
    """The result of the platform's own check of the answer."""
    quality_score: float | None
    """The platform's own score of the answer, from 0 to 1."""
    track_id: str | None
    """The platform's track that the answer belongs to."""
    bundle_id: str | None
    """The platform's bundle that produced the answer."""
    agent_version: str | None
    """The version of the agent."""
    model: str | None
    """The language model that wrote the answer."""
    trace_id: str | None
    """The trace of the request that produced the answer."""
    attributes: Mapping[str, str] | None
    """Up to 20 further attributes."""


def message(
    channel: Channel,
    message_id: str,
    content: str,
    *,
    sender_id: str,
    occurred_at: datetime | None = None,
    **fields: Unpack[MessageFields],
) -> ChatEvent:
    """Create the event for a message.

    The event for an edited message has the same message id and a later time.

    Args:
        channel: The conversation.
        message_id: Id of the message.
        content: Text of the message, or an empty string if it has none.
        sender_id: The author of the message.
        occurred_at: Time of the message, by default the current time.
        fields: Further fields (see `MessageFields`).

    Raises:
        TypeError: A field is unknown.
        ValueError: `occurred_at` has no offset.
    """
    if unknown := sorted(fields.keys() - MessageFields.__annotations__.keys()):
        raise TypeError(f"a message has no field {unknown[0]}")
    values: dict[str, Any] = {_camel_case(name): value for name, value in fields.items()}
    values["attachments"] = _attachments(fields.get("attachments", ()))
    if (attributes := fields.get("attributes")) is not None:
        values["attributes"] = dict(attributes)
    return _event(
        channel,
        MESSAGE,
        occurred_at,
        (message_id, content),
        messageId=message_id,
        senderId=sender_id,
        senderType="human" if fields.get("agent_id") is None else "agent",
        content=content,
        **values,
    )


def reply(
    channel: Channel,
    message_id: str,
    original_message_id: str,
    content: str,
    *,
    sender_id: str,
    sender_type: SenderType = "human",
    thread_id: str | None = None,
    attachments: Sequence[Mapping[str, str]] = (),
    original: Mapping[str, Any] | None = None,
    occurred_at: datetime | None = None,
) -> ChatEvent:
    """Create the event for a reply to the message `original_message_id`.

    If available, pass a copy of that message as `original`.
    """
    return _event(
        channel,
        REPLY,
        occurred_at,
        (message_id, original_message_id, content),
        messageId=message_id,
        originalMessageId=original_message_id,
        senderId=sender_id,
        senderType=sender_type,
        threadId=thread_id,
        content=content,
        attachments=_attachments(attachments),
        original=None if original is None else dict(original),
    )


def reaction(
    channel: Channel,
    message_id: str,
    emoji: str,
    *,
    user_id: str,
    user_type: str = "human",
    action: Literal["added", "removed"] = "added",
    thread_id: str | None = None,
    original: Mapping[str, Any] | None = None,
    occurred_at: datetime | None = None,
) -> ChatEvent:
    """Create the event for adding an emoji (or a `:shortcode:`) to a message, or removing it."""
    return _event(
        channel,
        REACTION,
        occurred_at,
        (message_id, user_id, emoji, action),
        messageId=message_id,
        userId=user_id,
        userType=user_type,
        emoji=emoji,
        action=action,
        threadId=thread_id,
        original=None if original is None else dict(original),
    )


class Ingests(Protocol):
    """A client that can send event payloads, such as `AsyncClient`."""

    def ingest(self, events: list[Mapping[str, Any]], /) -> Awaitable[Any]: ...


class KafkaSends(Protocol):
    """A Kafka producer with the interface of aiokafka's producer."""

    def send_and_wait(self, topic: str, value: bytes, key: bytes) -> Awaitable[Any]: ...


async def publish_over_http(client: Ingests, *events: ChatEvent) -> Any:
    """Send events in order over HTTP, and return the response, which lists the rejected events."""
    return await client.ingest([event.payload for event in events])


async def publish_to_kafka(producer: KafkaSends, *events: ChatEvent) -> None:
    """Send events in order with aiokafka's producer, waiting for the acknowledgement of each.

    With a different producer, send the topic, key and value of each event instead.
    """
    for event in events:
        await producer.send_and_wait(event.topic, event.value, event.key)


def _attachments(attachments: Sequence[Mapping[str, str]]) -> list[dict[str, str]] | None:
    return [dict(attachment) for attachment in attachments] or None


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _event(
    channel: Channel, topic: str, occurred_at: datetime | None, named_by: tuple[str, ...], **fields: Any
) -> ChatEvent:
    """Create an event whose id is derived from its identifying values and its time.

    Creating the same event again results in the same id.

    Raises:
        ValueError: `occurred_at` has no offset.
    """
    moment = datetime.now(UTC) if occurred_at is None else occurred_at
    if moment.tzinfo is None:
        raise ValueError("occurred_at needs an offset: without one, the time is ambiguous")
    timestamp = moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    facts = json.dumps([topic, channel.tenant, channel.project, channel.conversation_id, *named_by, timestamp])
    payload = {
        "topic": topic,
        "eventId": str(uuid5(NAMESPACE_URL, facts)),
        "occurredAt": timestamp,
        "tenant": channel.tenant,
        "project": channel.project,
        "conversationId": channel.conversation_id,
    }
    return ChatEvent(topic, channel.key, payload | {name: value for name, value in fields.items() if value is not None})
