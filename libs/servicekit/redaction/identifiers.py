"""Names of the fields that contain identifiers. Redaction never changes these fields."""

from __future__ import annotations

from typing import Final

from pydantic.alias_generators import to_camel

_NAMES: Final = (
    *("event_id", "occurred_at", "given_at", "ts", "sequence", "version", "topic", "tenant", "project"),
    *("conversation_id", "thread_id", "turn_id", "message_id", "reply_to_message_id", "original_message_id"),
    *("post_id", "comment_id", "parent_comment_id", "author_id"),
    *("agent_message_id", "question_message_id", "sender_id", "user_id", "agent_id", "request_id"),
    *("track_id", "bundle_id", "trace_id", "agent_version", "model", "reviews"),
)
IDENTIFIERS: Final = frozenset((*_NAMES, *map(to_camel, _NAMES)))
"""Names of identifiers on the wire and in request bodies. They are never masked, because events with equal identifiers
are related, and equal masks would relate unrelated events."""
