"""Translation of replies and reactions, given the message that they are about."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

import pytest
from pydantic import ValidationError

from chat_bridge.model import IndexedMessage, indexed, translate
from contracts.base import TEXT_LIMIT
from contracts.chat import ChatMessageIngested, ChatMessageReactionIngested, ChatMessageReplyIngested
from contracts.feedback import FeedbackExplicitReceived, FeedbackReactionReceived, FeedbackReplyReceived
from contracts.provenance import NO_PROVENANCE
from contracts.versions import version_of
from servicekit.log.outcome import Outcome
from tests.support.logs import example

NAMESPACE = UUID("6f0c1a52-3f43-5d0e-9a38-9d6b1f1f7c55")


def original(**changes: Any) -> IndexedMessage:
    event = ChatMessageIngested.model_validate_json(example("chat.message.ingested", "agent", **changes))
    return indexed(event, event.tenant, event.project, version_of(event))


def reply(**changes: Any) -> ChatMessageReplyIngested:
    return ChatMessageReplyIngested.model_validate_json(example("chat.message.reply.ingested", "reply", **changes))


def reaction(**changes: Any) -> ChatMessageReactionIngested:
    return ChatMessageReactionIngested.model_validate_json(
        example("chat.message.reaction.ingested", "added", **changes)
    )


def test_a_reply_names_the_answer_it_is_about() -> None:
    event = translate(reply(), original())
    about = '"evt-5","conv-17","msg-7","user-42"'
    assert isinstance(event, FeedbackReplyReceived)
    assert json.loads(event.model_dump_json(by_alias=True, exclude_none=True)) == {
        "eventId": str(uuid5(NAMESPACE, f'["acme","support","feedback.reply.received",{about}]')),
        "occurredAt": "2026-03-01T09:30:00.000000Z",
        "tenant": "acme",
        "project": "support",
        "version": 1,
        "conversationId": "conv-17",
        "turnId": "turn-3",
        "agentId": "trip-planner",
        "agentMessageId": "msg-6",
        "agentMessageContent": "The 7:40 train gets you there before nine.",
        "truncated": False,
        "trackId": "track-1",
        "bundleId": "bundle-1",
        "agentVersion": "2026.2",
        "model": "any-model",
        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
        "intent": "timetable",
        "strategy": "lookup",
        "attributes": {"channel": "web"},
        "messageId": "msg-7",
        "replySenderId": "user-42",
        "replySenderType": "human",
        "replyContent": "Is there a later one?",
    }


def test_a_line_of_the_platform_is_no_reply_and_earns_nobody_anything() -> None:
    assert translate(reply(senderType="system"), original()) == Outcome.ignored("system_line")
    assert translate(reply(), original(senderType="system")) == Outcome.ignored("not_about_an_agent")


def test_a_reaction_keeps_its_emoji_as_it_was_written() -> None:
    event = translate(reaction(action="removed"), original())
    assert isinstance(event, FeedbackReactionReceived)
    assert (event.emoji, event.action, event.reaction_user_id) == ("👍🏽", "removed", "user-42")


@pytest.mark.parametrize(("given", "taken"), [(None, "human"), ("agent", "agent")])
def test_a_reaction_without_the_kind_of_its_user_is_a_persons(given: str | None, taken: str) -> None:
    event = translate(reaction(userType=given), original())
    assert isinstance(event, FeedbackReactionReceived) and event.reaction_user_type == taken


@pytest.mark.parametrize("own", ["truncated", "content"])
def test_a_reply_says_if_it_or_the_answer_is_shortened(own: str) -> None:
    at_limit, longer = reply(content="x" * TEXT_LIMIT), reply(content="x" * (TEXT_LIMIT + 1))
    answer = replace(original(), truncated=own == "truncated")
    events = [translate(one, answer) for one in (at_limit, longer)]
    assert [isinstance(one, FeedbackReplyReceived) and one.truncated for one in events] == [own == "truncated", True]
    assert [isinstance(one, FeedbackReplyReceived) and len(one.reply_content) for one in events] == [TEXT_LIMIT] * 2


@pytest.mark.parametrize("length", [TEXT_LIMIT, TEXT_LIMIT + 1])
def test_feedback_says_if_the_answer_is_shortened(length: int) -> None:
    for one in (reply(), reaction()):
        event = translate(one, original(content="x" * length))
        assert isinstance(event, FeedbackReplyReceived | FeedbackReactionReceived)
        assert (event.truncated, len(event.agent_message_content)) == (length > TEXT_LIMIT, TEXT_LIMIT)


@pytest.mark.parametrize(
    ("of_original", "of_event", "thread"),
    [("th", None, "th"), ("th", "another", "th"), (None, "th", "th"), (None, None, None), (None, "msg-6", None)],
)
def test_feedback_is_in_the_answers_thread_else_in_its_own(
    of_original: str | None, of_event: str | None, thread: str | None
) -> None:
    about = replace(original(), thread_id=of_original, question_message_id="q1")
    for one in (reply(threadId=of_event), reaction(threadId=of_event)):
        event = translate(one, about)
        assert not isinstance(event, Outcome)
        assert (event.thread_id, event.question_message_id) == (thread, "q1")


@pytest.mark.parametrize("sequence", [None, 0, 7])
def test_feedback_has_the_time_and_the_order_of_its_event(sequence: int | None) -> None:
    for one in (reply(sequence=sequence), reaction(sequence=sequence)):
        event = translate(one, original())
        assert not isinstance(event, Outcome)
        assert (event.occurred_at, event.sequence) == (one.occurred_at, sequence)


def test_a_judgement_is_explicit_feedback_on_the_answers_turn() -> None:
    judged: dict[str, Any] = {"emoji": None, "judgement": "not_ok", "text": "It is closed."}
    event = translate(reaction(**judged), original())
    assert isinstance(event, FeedbackExplicitReceived)
    assert (event.turn_id, event.agent_message_id, event.user_id) == ("turn-3", "msg-6", "user-42")
    assert (event.reaction, event.text, event.timed_by_log) == ("not_ok", "It is closed.", False)
    taken_back = translate(reaction(**judged, action="removed"), original())
    assert isinstance(taken_back, FeedbackExplicitReceived)
    assert (taken_back.reaction, taken_back.text) == (None, None)
    assert taken_back.event_id != event.event_id


@pytest.mark.parametrize(
    "fields",
    [
        {"emoji": None},
        {"emoji": None, "replaces": True},
        {"judgement": "ok"},
        {"text": "No."},
        {"emoji": None, "judgement": "great"},
    ],
)
def test_a_reaction_is_either_an_emoji_or_a_judgement(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        reaction(**fields)


def test_the_removal_of_a_single_emoji_need_not_name_it() -> None:
    event = translate(reaction(emoji=None, action="removed", replaces=True), original())
    assert isinstance(event, FeedbackReactionReceived)
    assert (event.emoji, event.action, event.replaces) == (None, "removed", True)


def test_of_a_persons_message_neither_words_nor_names_are_indexed() -> None:
    about = {"replyToMessageId": "m0", "threadId": "th", "model": "m", "senderType": "human"}
    person, agent = original(**about), original(**about | {"senderType": "agent"})
    assert (person.sender_id, person.agent_id, person.content, person.truncated) == ("", None, None, False)
    assert (person.provenance, person.reply_to, person.thread_id) == (NO_PROVENANCE, None, "th")
    assert (agent.sender_id, agent.provenance.model, agent.reply_to, agent.thread_id) == ("bot-1", "m", "m0", "th")
    assert not original(senderType="human", content="x" * (TEXT_LIMIT + 1)).truncated


def test_an_agent_without_an_agent_id_is_its_sender() -> None:
    assert (original(agentId=None).agent_id, original().agent_id) == ("bot-1", "trip-planner")


@pytest.mark.parametrize(
    ("event", "elsewhere"),
    [(reply, {"conversationId": "c"}), (reply, {"messageId": "m"}), (reply, {"senderId": "eve"})]
    + [(reaction, {name: "other"}) for name in ("conversationId", "messageId", "userId", "emoji")]
    + [(reaction, {"action": "removed"})],
)
def test_an_event_id_names_an_event_only_together_with_its_subject(event: Any, elsewhere: dict[str, str]) -> None:
    one, other = translate(event(), original()), translate(event(**elsewhere), original())
    assert not isinstance(one, Outcome)
    assert not isinstance(other, Outcome)
    assert one.event_id != other.event_id


def test_a_message_without_a_turn_is_its_own() -> None:
    event = translate(reply(), original(turnId=None))
    assert isinstance(event, FeedbackReplyReceived)
    assert event.turn_id == "msg-6"


@pytest.mark.parametrize(
    ("event", "about", "becomes"),
    [
        (reply(), original(senderType="human", agentId=None), Outcome.ignored("not_about_an_agent")),
        (reply(senderId="bot-1", senderType="agent"), original(), Outcome.ignored("self_feedback")),
        (reply(senderId="trip-planner", senderType="agent"), original(), Outcome.ignored("self_feedback")),
        (reaction(userId="trip-planner"), original(), Outcome.ignored("self_feedback")),
        (reaction(userId="bot-1"), original(), Outcome.ignored("self_feedback")),
        (reply(), replace(original(), agent_id=None), Outcome.ignored("not_about_an_agent")),
        (reply(), replace(original(), content=None), Outcome.ignored("not_about_an_agent")),
    ],
    ids=str,
)
def test_what_is_no_feedback(event: Any, about: IndexedMessage, becomes: Outcome) -> None:
    assert translate(event, about) == becomes
