"""What chat services publish: messages, replies to a message, reactions to a message."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from contracts.base import Confidence, Content, Event, Id, Label, SenderType
from contracts.fields import ConversationId, SaidByUserType, ThreadId
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
    """What a message of that content says: nothing where its writer has taken the words back."""
    return "" if content == DELETED else content


MessageId = Annotated[Id, Field(description="The message's id, unique within its conversation.")]
Written = Annotated[Content, Field(description="The message's text: not blank, at most 200,000 characters.")]
SenderId = Annotated[Id, Field(description="Who wrote the message: a person's id, or the agent's.")]
WrittenBy = Annotated[SenderType, Field(description="Whether a person or an agent wrote the message.")]


class ChatMessageIngested(ProvenanceFields, Event):
    """A message was written or edited: of two events with one `message_id` in a conversation the later one holds."""

    message_id: MessageId
    conversation_id: ConversationId
    turn_id: Id | None = None
    """The turn: one question and its answer. Messages without one are turns of their own."""
    thread_id: ThreadId = None
    sender_id: SenderId
    sender_type: WrittenBy
    user_type: Label | None = None
    """Who the writer is to the platform, such as `registered` or `anonymous`."""
    content: Written
    reply_to_message_id: Id | None = None
    """The message that this one answers, where the chat knows it."""
    agent_id: Id | None = None
    """The agent that wrote the message; an agent's message must name it."""
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
        if self.sender_type == "agent" and self.agent_id is None:
            raise ValueError("an agent's message needs agentId")
        return self


class OriginalMessage(ProvenanceFields):
    """A copy of the message that a reply or reaction is about, sent along by services that have it at hand."""

    message_id: MessageId
    conversation_id: ConversationId
    turn_id: Id | None = None
    """The turn of that message; without one it is a turn of its own."""
    sender_id: SenderId
    sender_type: WrittenBy
    agent_id: Id | None = None
    """The agent that wrote it; null for a person's message."""
    content: Written


Original = Annotated[
    OriginalMessage | None,
    Field(description="A copy of the message that this is about, which then need not have been published."),
]


class ChatMessageReplyIngested(Event):
    """`message_id` was written as a reply to `original_message_id`, in the same conversation.

    It is a message like any other: whether it comes as `chat.message.ingested` too makes no difference. Sent again at a
    later time, it says what the reply says now; with the content `(message deleted)` it takes the reply back.
    """

    message_id: MessageId
    original_message_id: Id
    """The message that it replies to."""
    conversation_id: ConversationId
    thread_id: ThreadId = None
    sender_id: SenderId
    sender_type: WrittenBy
    content: Written
    original: Original = None

    @model_validator(mode="after")
    def _is_about_something_else(self) -> Self:
        if self.message_id == self.original_message_id:
            raise ValueError("a reply to itself")
        return self


class ChatMessageReactionIngested(Event):
    """A person put an emoji on `message_id`, or took it away."""

    message_id: Id
    """The message that the emoji was put on."""
    conversation_id: ConversationId
    thread_id: ThreadId = None
    user_id: Id
    """The person who put it there."""
    user_type: SaidByUserType
    emoji: EmojiField
    action: EmojiAction = "added"
    original: Original = None
