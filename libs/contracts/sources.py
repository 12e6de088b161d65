"""Sources of feedback (`source` in `feedback.created`), and the prefixes of post and comment ids."""

from __future__ import annotations

from typing import Final, Literal

FeedbackSource = Literal["chat", "post", "api", "inference", "review"]
"""Sources: chats, posts, judgements over HTTP, the detector, and reviews."""
CHAT: Final = "chat"
"""Source of replies and reactions to an agent's messages in a chat."""
POST: Final = "post"
"""Source of comments on, and reactions to, an agent's posts and comments."""
REVIEW: Final = "review"
"""Source of reviews, which have the origin `reviewer`. A review replaces the machine's verdicts on its turn."""

POST_PREFIX: Final = "post:"
"""Prefix of a post's message id, and of the conversation id that the post shares with its comments.

Chat events with such a conversation id are rejected, so a chat never shares a conversation with a post.
"""
COMMENT_PREFIX: Final = "comment:"
"""Prefix of a comment's message id."""


def source_of(conversation_id: str) -> str:
    """Return the source of the replies and reactions in a conversation, which is `post` or `chat`."""
    return POST if conversation_id.startswith(POST_PREFIX) else CHAT
