"""Messages of one time: a rejection hits the answer before it by a reply, and none if the order is unknown."""

from __future__ import annotations

from typing import Any

from tests.support.running_stack import RunningStack, message

BASE = "/conversations/acme/support"
NO = "No, that's wrong."
Said = tuple[str, str | None, str]
SECOND = "2026-01-01T10:00:02.000Z"


def chat(conversation: str, *said: Said) -> list[Any]:
    """Return an exchange, and messages of a later instant, each with its id, the id it replies to, and content."""
    events = [
        message("1-question", conversation, occurredAt="2026-01-01T10:00:00.000Z"),
        message("1-answer", conversation, agent="bot", occurredAt="2026-01-01T10:00:01.000Z"),
    ]
    for name, reply, content in said:
        agent = "bot" if "answer" in name else None
        replies = {"replyToMessageId": reply} if reply else {}
        events.append(message(name, conversation, agent=agent, occurredAt=SECOND, content=content, **replies))
    return events


async def rejected(stack: RunningStack, conversation: str) -> list[str]:
    """Return the turns of the conversation that the machine found rejected."""
    async with stack.client() as http:
        found = await http.post(f"{BASE}/feedback/search", json={"conversation_id": conversation, "origin": "machine"})
    assert found.status_code == 200, found.text
    return [item["turn_id"] for item in found.json()["items"] if item["reaction"] == "not_ok"]


async def test_a_rejection_hits_the_answer_before_it(stack: RunningStack) -> None:
    its_own: list[Said] = [("2-question", None, NO), ("2-answer", "2-question", "Sorry: it opens at ten.")]
    before_it: list[Said] = [("2-rejection", "3-answer", NO), ("3-answer", None, "It closes at six.")]
    unknown: list[Said] = [("2-question", None, NO), ("2-answer", None, "Sorry: it opens at ten.")]
    for conversation, said in {"its-own": its_own, "before-it": before_it, "unknown": unknown}.items():
        for event in chat(conversation, *said):
            await stack.publish(event)
    await stack.quiet()
    assert await rejected(stack, "its-own") == ["1-answer"]
    assert await rejected(stack, "before-it") == ["3-answer"]
    assert await rejected(stack, "unknown") == []
    asked = {"text": NO, "ts": SECOND, "user_id": "ann"}
    async with stack.client() as http:
        known = await http.post(f"{BASE}/its-own/detect", json={**asked, "message_id": "2-question"})
        foreign = await http.post(f"{BASE}/unknown/detect", json={**asked, "message_id": "2-other"})
    assert known.json()["target"]["turn_id"] == "1-answer"
    assert foreign.json()["target"] is None
