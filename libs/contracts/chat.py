"""What chat services publish: messages, replies to a message, reactions to a message."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from contracts.base import Confidence, Content, Event, Id, Label, Model, SenderType, UserType

Attribute = Annotated[str, StringConstraints(max_length=256, pattern=r"^[^\x00]*$")]
Emoji = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]+$")]
"""A Unicode emoji or a `:shortcode:`; what it means is the feedback service's business."""


class ChatMessageIngested(Event):
    """A message was written. An agent's message names its agent; a missing `turn_id` makes it its own turn."""

    message_id: Id
    conversation_id: Id
    turn_id: Id | None = None
    sender_id: Id
    sender_type: SenderType
    user_type: Label | None = None
    content: Content
    reply_to_message_id: Id | None = None
    agent_id: Id | None = None
    intent: Label | None = None
    strategy: Label | None = None
    validation_outcome: Literal["APPROVE", "REVISE", "RETRY", "FAIL"] | None = None
    quality_score: Confidence | None = None
    track_id: Id | None = None
    bundle_id: Id | None = None
    agent_version: Label | None = None
    model: Label | None = None
    trace_id: Id | None = None
    attributes: Annotated[dict[Label, Attribute], Field(max_length=20)] | None = None

    @model_validator(mode="after")
    def _an_agent_has_a_name(self) -> Self:
        if self.sender_type == "agent" and self.agent_id is None:
            raise ValueError("an agent's message needs agentId")
        return self


class OriginalMessage(Model):
    """A copy of the message that a reply or reaction is about, sent along by services that have it at hand."""

    message_id: Id
    conversation_id: Id
    turn_id: Id | None = None
    sender_id: Id
    sender_type: SenderType
    agent_id: Id | None = None
    content: Content
    track_id: Id | None = None
    bundle_id: Id | None = None
    agent_version: Label | None = None
    model: Label | None = None
    trace_id: Id | None = None


class ChatMessageReplyIngested(Event):
    """`message_id` was written as a reply to `original_message_id`."""

    message_id: Id
    original_message_id: Id
    conversation_id: Id
    sender_id: Id
    sender_type: SenderType
    content: Content
    original: OriginalMessage | None = None

    @model_validator(mode="after")
    def _is_about_something_else(self) -> Self:
        if self.message_id == self.original_message_id:
            raise ValueError("a reply to itself")
        return self


class ChatMessageReactionIngested(Event):
    """A person put an emoji on `message_id`, or took it away."""

    message_id: Id
    conversation_id: Id
    user_id: Id
    user_type: UserType
    emoji: Emoji
    action: Literal["added", "removed"] = "added"
    original: OriginalMessage | None = None
