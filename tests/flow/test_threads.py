"""Two threads in one channel, as Slack names them, are separate conversations from the chat to the reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.support.running_stack import RunningStack, message

BASE = "/conversations/acme/support"


def said(name: str, minute: int, content: str, thread: str | None, **fields: Any) -> Any:
    """Return a message of a thread, which replies to the thread's root as in Slack and Teams."""
    place = {"threadId": thread, "replyToMessageId": thread} if thread not in (None, name) else {}
    at = f"2026-01-03T10:{minute:02}:00Z"
    return message(name, "channel", turn=None, content=content, occurredAt=at, **place, **fields)


def two_threads() -> Sequence[Any]:
    """Return the messages of two threads: r1 about trams, r2 about plants; each answer of r2 follows one of r1."""
    return [
        said("r1", 0, "Which tram goes to the zoo?", None, senderId="eva"),
        said("r2", 1, "Who waters the plants in August?", None, senderId="kai"),
        said("a1", 2, "Tram 4 goes to the zoo.", "r1", agent="bot"),
        said("a2", 3, "Kim waters the plants.", "r2", agent="bot"),
        said("q1", 4, "That's wrong", "r1", senderId="eva"),
        said("q2", 5, "Thanks, perfect!", "r2", senderId="kai"),
        said("a3", 6, "Sorry: tram 9 goes to the zoo.", "r1", agent="bot"),
    ]


async def kto_rows(stack: RunningStack) -> dict[str, Any]:
    async with stack.client() as http:
        answer = await http.get(f"{BASE}/exports/kto?everyone=true")
    assert answer.status_code == 200, answer.text
    rows = [json.loads(line) for line in answer.text.splitlines()]
    return {row["turn_id"]: row for row in rows if row["conversation_id"] == "channel"}


async def test_verdicts_planner_and_training_rows_keep_threads_apart(stack: RunningStack) -> None:
    await stack.publish(*two_threads())
    await stack.quiet()
    async with stack.client() as http:
        found = await http.post(f"{BASE}/feedback/search", json={"conversation_id": "channel", "origin": "machine"})
        here = {"message_id": "q9", "ts": "2026-01-03T10:09:00Z"}
        body = {"text": "That is still wrong", "thread_id": "r1", "reply_to_message_id": "r1", "user_id": "eva", **here}
        kai = {"thread_id": "r2", "reply_to_message_id": "r2", "user_id": "kai"}
        tram = (await http.post(f"{BASE}/channel/detect", json=body)).json()
        plants = (await http.post(f"{BASE}/channel/detect", json={**body, **kai})).json()
        channel = (await http.post(f"{BASE}/channel/detect", json={"text": "That's wrong", **here})).json()
    assert {item["turn_id"]: item["reaction"] for item in found.json()["items"]} == {"a1": "not_ok", "a2": "ok"}
    assert (tram["target"]["turn_id"], tram["target"]["rule"], tram["rejections_in_a_row"]) == ("a3", "thread", 2)
    assert "be more careful" in tram["planner_markdown"]
    assert "tram 9" in tram["planner_markdown"]
    assert "plants" not in tram["planner_markdown"]
    assert plants["target"]["turn_id"] == "a2"
    assert channel["target"] is None, "no agent has spoken outside of the threads"
    rows = await kto_rows(stack)
    assert {turn: row["label"] for turn, row in rows.items()} == {"a1": False, "a2": True}
    assert [one["content"] for one in rows["a1"]["prompt"]] == ["Which tram goes to the zoo?"]
    assert [one["content"] for one in rows["a2"]["prompt"]] == ["Who waters the plants in August?"]


async def test_a_root_that_comes_late_has_its_thread_judged_again(stack: RunningStack) -> None:
    late, *early = [
        {**one, "conversationId": "late"} for one in two_threads() if one["messageId"] in ("r1", "a1", "q1")
    ]
    await stack.publish(*early)
    await stack.quiet()
    await stack.publish(late)
    await stack.quiet()
    [row] = await stack.rows("select user_text from inference.turns where conversation_id = 'late' and turn_id = 'a1'")
    assert row["user_text"] == "Which tram goes to the zoo?"


async def test_a_transcript_shows_each_thread_behind_its_root(stack: RunningStack) -> None:
    await stack.publish(*({**one, "conversationId": "page"} for one in two_threads()))
    await stack.quiet()
    async with stack.client() as http:
        page = (await http.get("/dashboard/conversation?at=acme/support&id=page")).text
    words = ("Which tram", "Tram 4 goes", "wrong", "tram 9", "Who waters", "Kim waters", "perfect")
    places = [page.find(one) for one in words]
    assert -1 not in places
    assert places == sorted(places)
