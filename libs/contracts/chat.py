"""Events of chat services: messages, replies to a message, reactions to a message."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from contracts.base import Confidence, Event, Label, SenderType
from contracts.inbound import Attachments, MessageContent, OptionalId, ProducerId, ProducerInstant, Role
from contracts.provenance import ProvenanceFields

Attribute = Annotated[str, StringConstraints(max_length=256, pattern=r"^[^\x00]*$")]
Emoji = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]+$")]
"""A Unicode emoji or a `:shortcode:`; what it means is the feedback service's business."""
EmojiField = Annotated[Emoji, Field(description="The emoji itself, or a `:shortcode:`.")]
EmojiAction = Annotated[
    Literal["added", "removed"], Field(description="Whether the emoji was put on the message or taken away.")
]
DELETED: Final = "(message deleted)"
"""The content that stands for a message's words once its writer has taken them back."""


def words_of(content: str) -> str:
    """Return the text of a message's content, or an empty text if its writer deleted it."""
    return "" if content == DELETED else content


MessageId = Annotated[ProducerId, Field(description="The message's id, unique within its conversation.")]
ConversationId = Annotated[
    ProducerId, Field(description="The conversation, such as a channel or a chat session; its events stay in order.")
]
ThreadId = Annotated[
    OptionalId,
    Field(
        description="The thread inside the conversation, if the chat has threads: the id of the message that began it, "
        "which need not carry it. Messages without one belong to the conversation outside its threads."
    ),
]
Written = Annotated[
    MessageContent,
    Field(description="The message's text, at most 200,000 characters; empty for a picture or a sticker."),
]
SenderId = Annotated[ProducerId, Field(description="Who wrote the message: a person's id, or the agent's.")]
WrittenBy = Annotated[SenderType, Field(description="Whether a person or an agent wrote the message.")]


class ChatEvent(Event):
    """An event of a chat service."""

    event_id: ProducerId
    """The producer's id of this event. Sending an event again under the same id does no harm."""
    occurred_at: ProducerInstant
    """When it happened: RFC 3339 with an offset, or epoch milliseconds. Orders the events about one thing, whatever
    order they arrive in."""


class ProducerProvenance(ProvenanceFields):
    """`ProvenanceFields` as chat services write them."""

    track_id: OptionalId = None
    """The platform's track (a line of work) that the answer belongs to."""
    bundle_id: OptionalId = None
    """The platform's bundle (the application) that made the answer."""
    trace_id: OptionalId = None
    """The trace of the request in which the answer was made."""


class ChatMessageIngested(ProducerProvenance, ChatEvent):
    """A message was written or edited: of two events with one `message_id` in a conversation the later one holds."""

    message_id: MessageId
    conversation_id: ConversationId
    turn_id: OptionalId = None
    """The turn: one question and its answer. Messages without one are turns of their own."""
    thread_id: ThreadId = None
    sender_id: SenderId
    sender_type: WrittenBy
    user_type: Role = None
    """The platform's own word for the writer's role, such as `registered` or `moderator`."""
    content: Written
    attachments: Attachments = None
    reply_to_message_id: OptionalId = None
    """The message that this one answers, where the chat knows it."""
    agent_id: OptionalId = None
    """The agent that wrote the message. An agent's message that names none is by the agent called `senderId`."""
    strategy: Label | None = None
    """How the agent went about the answer, such as `lookup`."""
    validation_outcome: Literal["APPROVE", "REVISE", "RETRY", "FAIL"] | None = None
    """How the platform's own check of the answer ended."""
    quality_score: Confidence | None = None
    """The platform's own score of the answer, 0 to 1."""
    attributes: Annotated[dict[Label, Attribute], Field(max_length=20)] | None = None
    """Up to 20 further facts by name. Nothing reads them."""

    @model_validator(mode="after")
    def _an_agent_has_a_name(self) -> Self:
        if self.agent_id is None and self.sender_type == "agent":
            # Past the model's own `__setattr__`, which refuses to change a frozen event.
            self.__dict__["agent_id"] = self.sender_id
        return self


class OriginalMessage(ProducerProvenance):
    """A copy of the message that a reply or reaction is about, sent along by services that have it at hand."""

    message_id: MessageId
    conversation_id: ConversationId
    turn_id: OptionalId = None
    """The turn of that message; without one it is a turn of its own."""
    sender_id: SenderId
    sender_type: WrittenBy
    agent_id: OptionalId = None
    """The agent that wrote it; null for a person's message."""
    content: Written


Original = Annotated[
    OriginalMessage | None,
    Field(description="A copy of the message that this is about, which then need not have been published."),
]


class ChatMessageReplyIngested(ChatEvent):
    """`message_id` was written as a reply to `original_message_id`, in the same conversation.

    It is a message like any other: whether it comes as `chat.message.ingested` too makes no difference. Sent again at a
    later time, it says what the reply says now; with the content `(message deleted)` it takes the reply back.
    """

    message_id: MessageId
    original_message_id: ProducerId
    """The message that it replies to."""
    conversation_id: ConversationId
    thread_id: ThreadId = None
    sender_id: SenderId
    sender_type: WrittenBy
    content: Written
    attachments: Attachments = None
    original: Original = None

    @model_validator(mode="after")
    def _is_about_something_else(self) -> Self:
        if self.message_id == self.original_message_id:
            raise ValueError("a reply to itself")
        return self


class ChatMessageReactionIngested(ChatEvent):
    """A person put an emoji on `message_id`, or took it away."""

    message_id: ProducerId
    """The message that the emoji was put on."""
    conversation_id: ConversationId
    thread_id: ThreadId = None
    user_id: ProducerId
    """The person who put it there."""
    user_type: Role = None
    """The platform's own word for that person's role; only `agent` has a meaning: it is another agent."""
    emoji: EmojiField
    action: EmojiAction = "added"
    original: Original = None
