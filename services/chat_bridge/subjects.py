"""The subject of a chat event: the conversation, the message and the person that it is about.

An event id is unique only in combination with the subject.
"""

from __future__ import annotations

from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested


def subject_of(event: ChatMessageReplyIngested | ChatMessageReactionIngested) -> tuple[str, ...]:
    """Return the conversation, the message and the person of an event.

    For a reaction, also return its emoji or judgement and its action.

    These values and the event id identify the event. The id alone is not sufficient, because some chat services number
    the events of each conversation or person "1", "2" and so on.
    """
    if isinstance(event, ChatMessageReplyIngested):
        return event.conversation_id, event.message_id, event.sender_id
    reacted_with = event.emoji or event.judgement or ""
    return event.conversation_id, event.message_id or "", event.user_id, reacted_with, event.action
