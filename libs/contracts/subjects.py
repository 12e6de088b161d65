"""Subjects of chat events. An event id identifies an event only together with the event's subject."""

from __future__ import annotations

from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested


def subject_of(event: ChatMessageReplyIngested | ChatMessageReactionIngested) -> tuple[str, ...]:
    """Return the event's conversation, message and person, followed by emoji and action for a reaction.

    Some channels number their events "1", "2" per conversation or per person, so event ids repeat.
    """
    if isinstance(event, ChatMessageReplyIngested):
        return event.conversation_id, event.message_id, event.sender_id
    return event.conversation_id, event.message_id, event.user_id, event.emoji, event.action
