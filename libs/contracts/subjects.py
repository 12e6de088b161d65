"""Names what a chat event is about: an event id identifies an event only together with that."""

from __future__ import annotations

from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested


def subject_of(event: ChatMessageReplyIngested | ChatMessageReactionIngested) -> tuple[str, ...]:
    """Return conversation, message and person, and of a reaction emoji and action.

    Some channels number their events "1", "2" in each conversation, or for each person.
    """
    if isinstance(event, ChatMessageReplyIngested):
        return event.conversation_id, event.message_id, event.sender_id
    return event.conversation_id, event.message_id, event.user_id, event.emoji, event.action
