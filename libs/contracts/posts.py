"""Events of forums and other services with posts, which are translated to chat events.

A post and its comments form one conversation. The id of the conversation is `post:` followed by the post's id, and so
is the message id of the post. The message id of a comment is `comment:` followed by the comment's id. The prefixes
prevent collisions between posts, comments and chat messages.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from contracts.attachments import Attachments
from contracts.base import SenderType
from contracts.chat import (
    ChatMessageIngested,
    ChatMessageReactionIngested,
    ChatMessageReplyIngested,
    EmojiAction,
    EmojiField,
    ProducerEvent,
    ProducerProvenance,
)
from contracts.inbound import PART_LIMIT, MessageContent, OptionalId, OptionalPartId, PartId, ProducerId, Role
from contracts.sources import COMMENT_PREFIX, POST_PREFIX

PostId = Annotated[PartId, Field(description=f"The post's id, unique in its project; at most {PART_LIMIT} characters.")]
CommentId = Annotated[
    PartId, Field(description=f"The comment's id, unique among its post's comments; at most {PART_LIMIT} characters.")
]


class PostEvent(ProducerEvent):
    """An event about a post."""

    post_id: PostId

    @property
    def conversation_id(self) -> str:
        """Id of the conversation formed by the post and its comments."""
        return POST_PREFIX + self.post_id


class AuthoredEvent(ProducerProvenance, PostEvent):
    """An event about a post or a comment that a person or an agent wrote."""

    turn_id: OptionalId = None
    """The turn: a question and its answer. An agent's post or comment without a turn is its own turn."""
    author_id: ProducerId
    """The id of the person or agent that wrote it."""
    author_type: SenderType
    """`human` if a person wrote it, `agent`, or `system` for a line of the platform, as in `chat.message.ingested`."""
    user_type: Role = None
    """The platform's own name for the author's role, such as `registered` or `moderator`."""
    agent_id: OptionalId = None
    """The agent that wrote it; by default an agent's text is by the agent `authorId`."""
    content: MessageContent
    """The text, with the title if there is one; at most 200,000 characters."""
    attachments: Attachments = None


class PostPublished(AuthoredEvent):
    """Event sent when an agent or a person publishes or edits a post.

    If there are several events with the same `postId`, the latest one counts. The content `(message deleted)` deletes
    the post.
    """

    @property
    def message_id(self) -> str:
        return POST_PREFIX + self.post_id

    @property
    def as_message(self) -> ChatMessageIngested:
        """The post as a chat message."""
        return _message(self, None)


class PostCommented(AuthoredEvent):
    """Event sent when an agent or a person writes or edits a comment on a post or on another comment.

    If there are several events about the same comment, the latest one counts. The content `(message deleted)` deletes
    the comment.
    """

    comment_id: CommentId
    parent_comment_id: OptionalPartId = None
    """The comment that this one answers; null for a comment on the post itself."""

    @model_validator(mode="after")
    def _is_about_something_else(self) -> Self:
        if self.parent_comment_id == self.comment_id:
            raise ValueError("a comment on itself")
        return self

    @property
    def message_id(self) -> str:
        return COMMENT_PREFIX + self.comment_id

    @property
    def original_message_id(self) -> str:
        """Message id of the comment or post that the comment responds to."""
        return _target(self.post_id, self.parent_comment_id)

    @property
    def as_message(self) -> ChatMessageIngested:
        """The comment as a chat message."""
        return _message(self, self.original_message_id)

    @property
    def as_reply(self) -> ChatMessageReplyIngested:
        """The comment as a reply to the post or to the parent comment."""
        return ChatMessageReplyIngested.model_construct(
            **_envelope(self),
            message_id=self.message_id,
            original_message_id=self.original_message_id,
            sender_id=self.author_id,
            sender_type=self.author_type,
            content=self.content,
            attachments=self.attachments,
        )


class PostReacted(PostEvent):
    """Event sent when a person adds an emoji to a post or a comment or removes it."""

    comment_id: OptionalPartId = None
    """The comment with the emoji; null if it is on the post."""
    user_id: ProducerId
    """The person who added or removed the emoji."""
    user_type: Role = None
    """The platform's own name for the person's role. Only `agent` has a meaning: it marks another agent."""
    emoji: EmojiField
    action: EmojiAction = "added"

    @property
    def message_id(self) -> str:
        """Message id of the post or comment that the emoji was added to or removed from."""
        return _target(self.post_id, self.comment_id)

    @property
    def as_reaction(self) -> ChatMessageReactionIngested:
        """The same reaction as a chat event."""
        return ChatMessageReactionIngested.model_construct(
            **_envelope(self),
            message_id=self.message_id,
            user_id=self.user_id,
            user_type=self.user_type,
            emoji=self.emoji,
            action=self.action,
        )


About = ChatMessageReplyIngested | ChatMessageReactionIngested
"""Event about another message: a reply or a reaction."""


def about_in(event: Any) -> About | None:
    """Return the chat reply or chat reaction that an event represents, or None for a message or a post.

    A comment represents a reply.
    """
    if isinstance(event, ChatMessageReplyIngested | ChatMessageReactionIngested):
        return event
    if isinstance(event, PostCommented):
        return event.as_reply
    return event.as_reaction if isinstance(event, PostReacted) else None


def _target(post_id: str, comment_id: str | None) -> str:
    return POST_PREFIX + post_id if comment_id is None else COMMENT_PREFIX + comment_id


# Not validated again: the values are valid, and the models of chat events reject the conversation id of a post.
def _message(event: PostPublished | PostCommented, reply_to: str | None) -> ChatMessageIngested:
    agent_id = (event.agent_id or event.author_id) if event.author_type == "agent" else event.agent_id
    return ChatMessageIngested.model_construct(
        **_envelope(event),
        **{name: getattr(event, name) for name in ProducerProvenance.model_fields},
        message_id=event.message_id,
        turn_id=event.turn_id,
        sender_id=event.author_id,
        sender_type=event.author_type,
        user_type=event.user_type,
        agent_id=agent_id,
        content=event.content,
        attachments=event.attachments,
        reply_to_message_id=reply_to,
    )


def _envelope(event: PostEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in ProducerEvent.model_fields} | {
        "conversation_id": event.conversation_id
    }
