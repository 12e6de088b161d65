"""Subjects of chat events. An event id identifies an event only together with the subject."""

from __future__ import annotations

from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested


def subject_of(event: ChatMessageReplyIngested | ChatMessageReactionIngested) -> tuple[str, ...]:
    """Return the conversation, message and person of an event, and for a reaction also emoji and action.

    Some channels number the events of each conversation or person "1", "2" and so on, so event ids repeat.
    """
    if isinstance(event, ChatMessageReplyIngested):
        return event.conversation_id, event.message_id, event.sender_id
    return event.conversation_id, event.message_id, event.user_id, event.emoji, event.action
