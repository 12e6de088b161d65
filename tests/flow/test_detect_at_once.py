"""Detection directly after an answer: only the route itself waits."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

import agent_feedback_kit as kit
from tests.support.running_stack import RunningStack, exchange, message, running_stack
from tests.support.served import served

PLACE: Any = {"token": "runtime", "tenant": "acme", "project": "support"}
WRONG = {"text": "No, that's wrong.", "turn_id": "t2", "user_id": "ann"}
PREVIOUS = {"message_id": "t1-answer", "content": "It opens at nine.", "strategy": "lookup", "turn_id": "t1"}


async def detected(stack: RunningStack, conversation: str, **body: Any) -> Any:
    async with stack.client("runtime") as http:
        answer = await http.post(f"/conversations/acme/support/{conversation}/detect", json={**WRONG, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_an_answer_just_published_is_the_target(stack: RunningStack) -> None:
    for number in range(5):
        await stack.publish(*exchange(f"at-once-{number}", "t1"))
        found = await detected(stack, f"at-once-{number}")
        assert (found["target"] or {}).get("turn_id") == "t1"
        assert not found["answer_not_seen"]


async def test_an_answer_that_is_passed_in_is_judged_before_it_is_published(stack: RunningStack) -> None:
    found = await detected(stack, "in-hand", previous=PREVIOUS | {"agent_id": "bot"})
    assert found["feedback"]["feedback_type"] == "rejected" and not found["answer_not_seen"]
    assert {name: found["target"][name] for name in ("turn_id", "message_id", "agent_id")} == {
        "turn_id": "t1",
        "message_id": "t1-answer",
        "agent_id": "bot",
    }
    assert "choose another than lookup" in found["planner_markdown"]
    assert "It opens at nine." in found["planner_markdown"]
    bare = await detected(stack, "in-hand", previous={"message_id": "m1", "content": "It opens at nine."})
    assert bare["target"]["turn_id"] == "m1"


async def test_the_question_of_a_passed_answer_shows_a_reworded_request(stack: RunningStack) -> None:
    asked = {"text": "What are the opening hours of the city museum on Sunday?"}
    previous = PREVIOUS | {"content": "There are three museums.", "question": "City museum opening hours Sunday?"}
    with_question = await detected(stack, "reworded", **asked, previous=previous)
    assert with_question["feedback"]["correction_type"] == "rephrased"
    del previous["question"]
    assert (await detected(stack, "reworded", **asked, previous=previous))["feedback"]["correction_type"] is None


async def test_what_is_indexed_holds_over_what_is_passed(stack: RunningStack) -> None:
    await stack.publish(*exchange("indexed", "t1"))
    await stack.quiet()
    found = await detected(stack, "indexed", previous=PREVIOUS | {"turn_id": "other", "content": "At ten."})
    assert found["target"]["turn_id"] == "t1"
    assert "At ten." not in found["planner_markdown"]


async def test_the_caller_limits_the_wait(stack: RunningStack) -> None:
    await stack.publish(*exchange("hurried", "t1"))
    found = await detected(stack, "hurried", wait_seconds=0)
    assert found["answer_not_seen"]
    await stack.quiet()
    assert not (await detected(stack, "hurried", wait_seconds=2))["answer_not_seen"]
    async with stack.client("runtime") as http:
        for seconds in (-1, 61, "1", None):
            answer = await http.post("/conversations/acme/support/c/detect", json={**WRONG, "wait_seconds": seconds})
            assert answer.status_code == (200 if seconds is None else 422)


async def test_a_malformed_previous_answer_is_refused(stack: RunningStack) -> None:
    async with stack.client("runtime") as http:
        for previous in (
            {},
            {"message_id": "", "content": "x"},
            PREVIOUS | {"strategy": "a\nb"},
            "m1",
            {**PREVIOUS, "x": 1},
        ):
            answer = await http.post("/conversations/acme/support/c/detect", json={**WRONG, "previous": previous})
            assert answer.status_code == 422


async def test_an_index_that_does_not_get_on_is_owned_up_to(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERENCE_INDEX_SECONDS", "0.3")
    async with running_stack(postgres_url) as stack:
        await stack.publish(message("before", "stuck"))
        await stack.quiet()
        blocker = await asyncpg.connect(stack.database_url)
        try:
            async with blocker.transaction():
                await blocker.execute("lock table inference.messages in exclusive mode")
                await stack.publish(*exchange("stuck", "t1"))
                found = await detected(stack, "stuck")
                assert found["answer_not_seen"] and found["target"] is None
                async with served(stack.app()) as url, kit.AsyncClient(url, **PLACE) as client:
                    planning = await kit.before_planning(client, "stuck", WRONG["text"], user_id="ann", budget=20)
                    assert planning.answer_not_seen and planning.markdown is None
                    previous: Any = PREVIOUS
                    planning = await kit.before_planning(
                        client, "stuck", WRONG["text"], user_id="ann", previous=previous, budget=20
                    )
                    assert not planning.answer_not_seen and "choose another than lookup" in (planning.markdown or "")
                found = await detected(stack, "stuck", previous=PREVIOUS)
                assert not found["answer_not_seen"] and found["target"]["turn_id"] == "t1"
        finally:
            await blocker.close()
        await stack.quiet()
        assert not (await detected(stack, "stuck"))["answer_not_seen"]
