"""Message references: ids shared by several conversations, and messages sent as replies."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.support.running_stack import RunningStack, message

BASE = "/conversations/acme/support"


def said(name: str, conversation: str, second: int, content: str, **fields: Any) -> Any:
    at = f"2026-01-01T10:00:{second:02}Z"
    return message(name, conversation, content=content, occurredAt=at, **fields)


def reaction(name: str, conversation: str, emoji: str, second: int = 30, **fields: Any) -> Any:
    return {
        "topic": "chat.message.reaction.ingested",
        "eventId": str(uuid4()),
        "occurredAt": f"2026-01-01T10:00:{second:02}Z",
        "tenant": "acme",
        "project": "support",
        "messageId": name,
        "conversationId": conversation,
        "userId": "ann",
        "userType": "human",
        "emoji": emoji,
    } | fields


def as_reply(event: Any, about: str, **fields: Any) -> Any:
    """Return the reply event of a message."""
    names = ("occurredAt", "tenant", "project", "messageId", "conversationId", "senderId", "senderType", "content")
    own = {name: event[name] for name in names}
    return own | {"topic": "chat.message.reply.ingested", "eventId": str(uuid4()), "originalMessageId": about} | fields


async def turns_of(stack: RunningStack, conversation: str) -> dict[str, Any]:
    """Return the conversation's turns with their feedback, by turn."""
    await stack.quiet()
    async with stack.client() as http:
        answer = await http.post(f"{BASE}/{conversation}/turns-with-feedbacks", json={"turn_ids": None})
    assert answer.status_code == 200, answer.text
    return {turn["turn_id"]: turn for turn in answer.json()["turns"]}


async def machine_verdicts(stack: RunningStack, conversation: str) -> list[tuple[str, str]]:
    turns = await turns_of(stack, conversation)
    return [
        (turn, one["reaction"])
        for turn, shown in turns.items()
        for one in shown["feedbacks"]
        if one["origin"] == "machine"
    ]


async def test_two_channels_that_count_alike_keep_their_messages_and_reactions_apart(stack: RunningStack) -> None:
    for channel, answer in (("ch-1", "It opens at nine."), ("ch-2", "It costs 20 euros.")):
        await stack.publish(
            said("1", channel, 1, "A question."),
            said("2", channel, 2, answer, agent="bot"),
            reaction("2", channel, "👎" if channel == "ch-2" else "👍"),
        )
    one, other = await turns_of(stack, "ch-1"), await turns_of(stack, "ch-2")
    assert [(turn["assistant"]["text"], turn["feedbacks"][0]["reaction"]) for turn in (one["2"], other["2"])] == [
        ("It opens at nine.", "ok"),
        ("It costs 20 euros.", "not_ok"),
    ]


async def test_a_reaction_that_names_another_conversation_waits_for_a_message_there(stack: RunningStack) -> None:
    await stack.publish(said("a-7", "c-here", 1, "At nine.", agent="bot"), reaction("a-7", "c-there", "👎"))
    await stack.quiet()
    waiting = await stack.stack.fact("parked")
    await stack.publish(said("a-7", "c-there", 1, "At ten.", agent="bot"))
    assert [one["reaction"] for one in (await turns_of(stack, "c-there"))["a-7"]["feedbacks"]] == ["not_ok"]
    assert await turns_of(stack, "c-here") == {}
    assert await stack.stack.fact("parked") == waiting - 1


async def test_a_rejection_that_comes_only_as_a_reply_event_is_one(stack: RunningStack) -> None:
    question, answer = (
        said("r-q", "c-reply", 1, "Is the train on time?"),
        said("r-a", "c-reply", 2, "Yes, it runs.", agent="bot"),
    )
    shown = said("r-n", "c-reply", 3, "That's wrong, it was cancelled.")
    await stack.publish(question, answer, as_reply(shown, "r-a"))
    assert await machine_verdicts(stack, "c-reply") == [("r-a", "not_ok")]
    await stack.publish(shown, as_reply(shown, "r-a"))
    assert await machine_verdicts(stack, "c-reply") == [("r-a", "not_ok")]


async def test_an_answer_that_comes_only_as_a_reply_event_can_be_judged(stack: RunningStack) -> None:
    question = said("q-1", "c-answered", 1, "When does it open?")
    answer = said("a-1", "c-answered", 2, "At nine.", agent="bot")
    await stack.publish(question, as_reply(answer, "q-1"), reaction("a-1", "c-answered", "👍"))
    async with stack.client("ann") as http:
        given = await http.post(f"{BASE}/c-answered/turns/a-1/feedback", json={"reaction": "not_ok"})
    assert given.status_code == 202, given.text
    turn = (await turns_of(stack, "c-answered"))["a-1"]
    assert (turn["assistant"]["text"], [one["reaction"] for one in turn["feedbacks"]]) == ("At nine.", ["not_ok"])


async def test_what_is_inferred_or_judged_says_how_the_answer_was_made_and_who_the_person_is(
    stack: RunningStack,
) -> None:
    shown = {"trackId": "tr", "bundleId": "bu", "agentVersion": "7", "model": "m-9", "traceId": "tt", "intent": "hours"}
    await stack.publish(
        said("p-q", "c-made", 1, "When does it open?", userType="paid"),
        said("p-a", "c-made", 2, "It opens at nine.", agent="bot", **shown),
        said("p-n", "c-made", 3, "That's wrong, it opens at ten.", userType="paid"),
    )
    await stack.quiet()
    async with stack.client("ann") as http:
        assert (await http.post(f"{BASE}/c-made/turns/p-a/feedback", json={"reaction": "not_ok"})).status_code == 202
    await stack.quiet()
    rows = await stack.rows(
        "select feedback_type, user_type, track_id, bundle_id, agent_version, model, trace_id "
        "from reporting.effective where conversation_id = 'c-made' order by feedback_type"
    )
    made = ("paid", "tr", "bu", "7", "m-9", "tt")
    assert [tuple(row) for row in rows] == [("explicit", *made), ("inferred", *made)]
    async with stack.client() as http:
        body = {"scope": "conversation", "conversation_id": "c-made", "all_tags": ["track:tr"], "days": 3650}
        found = await http.post(f"{BASE}/feedback/artifacts", json=body)
    assert len([one for one in found.json()["items"] if "artifact:turn.log.reaction" in one["tags"]]) == 2
