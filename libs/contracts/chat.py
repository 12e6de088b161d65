"""Events sent by chat services: messages, replies to messages and reactions to messages."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from contracts.attachments import Attachments
from contracts.base import Confidence, Event, Reaction, SenderType, Text
from contracts.inbound import MessageContent, OptionalId, ProducerId, ProducerInstant, Role
from contracts.provenance import ProvenanceFields
from contracts.sources import POST_PREFIX

Emoji = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]+$")]
"""Unicode emoji or `:shortcode:`; the feedback service maps it to a reaction."""
EmojiField = Annotated[Emoji, Field(description="The emoji itself, or a `:shortcode:`.")]
OptionalEmoji = Annotated[
    Emoji | None,
    Field(
        description="The emoji itself, or a `:shortcode:`. A removal without it removes all emojis that the person put "
        "on the message."
    ),
]
Replaces = Annotated[
    bool,
    Field(
        description="True if a person has at most one emoji per message on this platform: a new one replaces the "
        "previous one, and a removal removes it, whatever emoji is named."
    ),
]
EmojiAction = Annotated[
    Literal["added", "removed"], Field(description="`added` if the person put the emoji on the message, or `removed`.")
]
DELETED: Final = "(message deleted)"
"""Content of a message whose writer has deleted it."""


def words_of(content: str) -> str:
    """Return the text of a message, which is empty if the message was deleted."""
    return "" if content == DELETED else content


def _is_of_a_chat(conversation_id: str) -> str:
    if conversation_id.startswith(POST_PREFIX):
        raise ValueError(f"a chat's conversation id must not begin with {POST_PREFIX}")
    return conversation_id


MessageId = Annotated[ProducerId, Field(description="The message's id, unique within its conversation.")]
ConversationId = Annotated[
    ProducerId,
    AfterValidator(_is_of_a_chat),
    Field(
        description="The conversation, such as a channel or a chat session; its events stay in order. It must not "
        "begin with `post:`, which marks posts with their comments."
    ),
]
ThreadId = Annotated[
    OptionalId,
    Field(
        description="The thread inside the conversation, if the chat has threads: the id of the thread's first "
        "message. The first message itself may omit the field. Other messages without the field are outside of "
        "threads."
    ),
]
Written = Annotated[
    MessageContent,
    Field(
        description="The message's text, at most 200,000 characters; empty if the message is only a picture or a "
        "sticker."
    ),
]
SenderId = Annotated[
    ProducerId,
    Field(
        description="The id of the person or agent that wrote the message, or of the person whom a system line names."
    ),
]
WrittenBy = Annotated[
    SenderType,
    Field(
        description="`human` if a person wrote the message, `agent`, or `system` for a line of the platform, such as "
        '"ann joined": it is neither question nor feedback, and is erased with the person `senderId`.'
    ),
]


class ProducerEvent(Event):
    """An event sent by a chat service or by a service with posts."""

    event_id: ProducerId
    """The producer's id of this event. An event may be sent again under the same id."""
    occurred_at: ProducerInstant
    """The time of the event: RFC 3339 with an offset, or epoch milliseconds. It orders events about the same thing,
    whatever their order of arrival."""


class ProducerProvenance(ProvenanceFields):
    """Provenance fields of chat events, in any of the spellings that chat services use."""

    track_id: OptionalId = None
    """The platform's track (a line of work) that the answer belongs to."""
    bundle_id: OptionalId = None
    """The platform's bundle (the application) that produced the answer."""
    trace_id: OptionalId = None
    """The trace of the request that produced the answer."""


class ChatMessageIngested(ProducerProvenance, ProducerEvent):
    """Event sent when a message is written or edited.

    If a conversation has several events with the same `messageId`, the latest one counts: the one with the highest
    `occurredAt`, which is the time of the edit, then the highest `sequence`. Among events with the same time and no
    `sequence`, the one that was logged last counts.
    """

    message_id: MessageId
    conversation_id: ConversationId
    turn_id: OptionalId = None
    """The turn: a question and its answer. A message without a turn is its own turn."""
    thread_id: ThreadId = None
    sender_id: SenderId
    sender_type: WrittenBy
    user_type: Role = None
    """The platform's own name for the writer's role, such as `registered` or `moderator`."""
    content: Written
    attachments: Attachments = None
    reply_to_message_id: OptionalId = None
    """The message that this one answers, if the chat knows it."""
    agent_id: OptionalId = None
    """The agent that wrote the message; by default an agent's message is by the agent `senderId`."""
    validation_outcome: Literal["APPROVE", "REVISE", "RETRY", "FAIL"] | None = None
    """The result of the platform's own check of the answer."""
    quality_score: Confidence | None = None
    """The platform's own score of the answer, 0 to 1."""

    @model_validator(mode="after")
    def _an_agent_has_a_name(self) -> Self:
        if self.agent_id is None and self.sender_type == "agent":
            # Bypasses the model's `__setattr__`, which rejects changes of a frozen event.
            self.__dict__["agent_id"] = self.sender_id
        return self


class OriginalMessage(ProducerProvenance):
    """Copy of the message that a reply or a reaction refers to. Including it in the event is optional."""

    message_id: MessageId
    conversation_id: ProducerId
    """The conversation, such as a channel or a chat session; its events stay in order."""
    turn_id: OptionalId = None
    """The turn of the message. A message without a turn is its own turn."""
    sender_id: SenderId
    sender_type: WrittenBy
    agent_id: OptionalId = None
    """The agent that wrote the message; null for a person's message."""
    content: Written


Original = Annotated[
    OriginalMessage | None,
    Field(description="A copy of the message that this event is about. With it, the message need not be published."),
]


class ChatMessageReplyIngested(ProducerEvent):
    """Event sent when a message is written as a reply to another message in the same conversation.

    The reply is an ordinary message, and the chat service may also send it as `chat.message.ingested`. A later event
    of this topic with the same `messageId` edits the reply. The content `(message deleted)` deletes it. An edit or a
    deletion that is sent only as `chat.message.ingested` does not change the reply's feedback record.

    A reply to the root of its thread counts as a reply to the agent's last message in the thread if its author also
    wrote the root, according to the copy in `original`, and only this person and one agent wrote in the thread before.
    """

    message_id: MessageId
    original_message_id: ProducerId
    """The message that the reply answers."""
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


class ChatMessageReactionIngested(ProducerEvent):
    """Event sent when a person adds an emoji to a message or removes it, or judges it with a control of the platform.

    An event has either an `emoji` or a `judgement`. Only a removal needs neither: it removes all emojis of the person.
    """

    message_id: OptionalId = None
    """The message with the emoji or the judgement. A judgement without it, such as a rating of a whole conversation, is
    about the last answer before the judgement."""
    conversation_id: ConversationId
    thread_id: ThreadId = None
    agent_id: OptionalId = None
    """For a judgement without `messageId`: the agent that is judged; by default the agent of the last answer."""
    user_id: ProducerId
    """The person who added or removed the emoji, or judged the message."""
    user_type: Role = None
    """The platform's own name for the person's role. Only `agent` has a meaning: it marks another agent."""
    emoji: OptionalEmoji = None
    action: EmojiAction = "added"
    replaces: Replaces = False
    judgement: Reaction | None = None
    """The judgement, if the person used the platform's own feedback control under an answer, such as a thumb. It is
    explicit feedback, like one given over HTTP. With the action `removed`, the person took it back."""
    text: Text | None = None
    """The person's reason for a judgement. An emoji has none."""
    original: Original = None

    @model_validator(mode="after")
    def _reacts_in_one_way(self) -> Self:
        if self.emoji is not None and self.judgement is not None:
            raise ValueError("either emoji or judgement")
        if self.emoji is None and self.judgement is None and self.action == "added":
            raise ValueError("emoji is missing")
        if self.message_id is None and self.judgement is None:
            raise ValueError("messageId is missing")
        if self.text is not None and self.judgement is None:
            raise ValueError("text belongs to a judgement")
        return self
