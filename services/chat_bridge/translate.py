"""Conversion of replies and reactions to feedback on the messages that they refer to. No I/O."""

from __future__ import annotations

from typing import Any

from chat_bridge.model import IndexedMessage
from contracts.base import PERSON, TEXT_LIMIT
from contracts.chat import ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.exchange import thread_of
from contracts.feedback import FeedbackExplicitReceived, FeedbackReactionReceived, FeedbackReplyReceived
from contracts.headers import Headers
from contracts.ids import derived_id
from contracts.posts import About
from contracts.topics import EXPLICIT_RECEIVED, REACTION_RECEIVED, REPLY_RECEIVED, Topic
from servicekit.log.messages import Message
from servicekit.log.outcome import Outcome

Translated = FeedbackReplyReceived | FeedbackReactionReceived | FeedbackExplicitReceived
TOPIC_OF: dict[type[Translated], Topic] = {
    FeedbackReplyReceived: REPLY_RECEIVED,
    FeedbackReactionReceived: REACTION_RECEIVED,
    FeedbackExplicitReceived: EXPLICIT_RECEIVED,
}


def translate(event: About, original: IndexedMessage) -> Translated | Outcome:
    """Convert a reply or reaction to a feedback event.

    The feedback event's id is derived from the id and subject of `event`, so repeated conversions give the same event.

    Returns:
        The feedback event, or the outcome if the reply or reaction is ignored.
    """
    if original.sender_type != "agent" or original.agent_id is None or original.content is None:
        return Outcome.ignored("not_about_an_agent")
    author = event.sender_id if isinstance(event, ChatMessageReplyIngested) else event.user_id
    if author in (original.agent_id, original.sender_id):
        return Outcome.ignored("self_feedback")
    if isinstance(event, ChatMessageReplyIngested):
        return _reply(event, original, original.agent_id, original.content)
    if event.judgement is not None:
        return _judgement(event, original, original.agent_id)
    return _reaction(event, original, original.agent_id, original.content)


def message_of(event: Translated, headers: Headers) -> Message:
    """Return the Kafka record of a feedback event."""
    return Message.of(TOPIC_OF[type(event)], event, headers)


def _reply(
    event: ChatMessageReplyIngested, original: IndexedMessage, agent: str, content: str
) -> FeedbackReplyReceived | Outcome:
    if event.sender_type == "system":
        return Outcome.ignored("system_line")
    return FeedbackReplyReceived(
        **_about(event, original, agent, REPLY_RECEIVED),
        agent_message_content=content,
        truncated=original.truncated or len(event.content) > TEXT_LIMIT,
        message_id=event.message_id,
        reply_sender_id=event.sender_id,
        reply_sender_type=event.sender_type,
        reply_content=event.content[:TEXT_LIMIT],
    )


def _reaction(
    event: ChatMessageReactionIngested, original: IndexedMessage, agent: str, content: str
) -> FeedbackReactionReceived:
    return FeedbackReactionReceived(
        **_about(event, original, agent, REACTION_RECEIVED),
        agent_message_content=content,
        truncated=original.truncated,
        reaction_user_id=event.user_id,
        reaction_user_type=event.user_type or PERSON,
        emoji=event.emoji,
        action=event.action,
        replaces=event.replaces,
    )


def _judgement(event: ChatMessageReactionIngested, original: IndexedMessage, agent: str) -> FeedbackExplicitReceived:
    return FeedbackExplicitReceived(
        **_about(event, original, agent, EXPLICIT_RECEIVED),
        user_id=event.user_id,
        user_type=event.user_type or PERSON,
        reaction=event.judgement if event.action == "added" else None,
        text=event.text if event.action == "added" else None,
    )


def _about(event: About, original: IndexedMessage, agent: str, topic: Topic) -> dict[str, Any]:
    """Return the fields that are common to feedback events from replies, reactions and judgements."""
    return {
        "event_id": str(derived_id(event.tenant, event.project, topic.name, event.event_id, *_subject_of(event))),
        "occurred_at": event.occurred_at,
        "sequence": event.sequence,
        "tenant": event.tenant,
        "project": event.project,
        "conversation_id": event.conversation_id,
        "turn_id": original.turn_id,
        "agent_id": agent,
        "agent_message_id": original.key.message_id,
        "question_message_id": original.question_message_id,
        "thread_id": original.thread_id or thread_of(original.key.message_id, event.thread_id),
        **original.provenance.fields(),
    }


def _subject_of(event: About) -> tuple[str, ...]:
    """Return the conversation, the message and the person of an event; of a reaction, also what it is and its action.

    The event id identifies the event only together with these values, because some chat services number the events of
    each conversation or person "1", "2" and so on.
    """
    if isinstance(event, ChatMessageReplyIngested):
        return event.conversation_id, event.message_id, event.sender_id
    reacted_with = event.emoji or event.judgement or ""
    return event.conversation_id, event.message_id or "", event.user_id, reacted_with, event.action
