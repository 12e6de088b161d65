"""Inference over HTTP, from chat events and people's judgements to the responses."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

import agent_feedback_kit as kit
from tests.support.running_stack import RunningStack, exchange, message, running_stack
from tests.support.served import served

BASE = "/conversations/acme/support"


def said(name: str, conversation: str, minute: int, content: str, *, turn: str, **fields: Any) -> Any:
    at = f"2026-01-01T10:{minute:02}:00Z"
    return message(name, conversation, turn=turn, content=content, occurredAt=at, **fields)


def turn_of(
    conversation: str,
    number: int,
    minute: int,
    question: str,
    answer: str,
    *,
    who: str = "ann",
    agent: str = "bot",
    **fields: Any,
) -> list[Any]:
    name = f"{conversation}-{number}"
    return [
        said(f"{name}q", conversation, minute, question, turn=f"t{number}", senderId=who),
        said(f"{name}a", conversation, minute + 1, answer, turn=f"t{number}", agent=agent, **fields),
    ]


async def metadata(stack: RunningStack, conversation: str, turn: str) -> Any:
    await stack.quiet()
    async with stack.client() as http:
        answer = await http.get(f"{BASE}/{conversation}/turns/{turn}/metadata")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def post(stack: RunningStack, path: str, body: Any, token: str | None = None) -> Any:
    async with stack.client(token or ("ann" if path.endswith("/feedback") else "runtime")) as http:
        return await http.post(f"{BASE}/{path}", json=body)


async def test_metadata_follows_machine_then_person_then_machine(stack: RunningStack) -> None:
    opening = turn_of("c-meta", 1, 0, "When does it open?", "It opens at nine.", strategy="lookup", intent="hours")
    await stack.publish(*opening, *turn_of("c-meta", 2, 2, "That's wrong, it opens at ten.", "At ten, sorry."))
    found = await metadata(stack, "c-meta", "t1")
    assert found["user_feedback_status"] == "rejected"
    assert (found["feedback_confidence"], found["rejection_detected_in"]) == (0.9, "t2")
    assert (found["correction_type"], found["user_said"]) == ("explicit_correction", "That's wrong, it opens at ten.")
    assert (found["strategy"], found["satisfaction"], found["ranking_score"]) == ("lookup", -1.0, -0.4)
    assert (found["session_id"], found["timestamp"]) == ("c-meta", "2026-01-01T10:00:00.000000Z")
    assert found["user_feedback"] == {
        "status": "rejected",
        "detected_at": "2026-01-01T10:02:00.000000Z",
        "detected_in_turn": "t2",
        "correction_type": "explicit_correction",
        "confidence": 0.9,
        "user_said": "That's wrong, it opens at ten.",
    }
    assert (await post(stack, "c-meta/turns/t1/feedback", {"reaction": "ok", "text": "Fine."})).status_code == 202
    found = await metadata(stack, "c-meta", "t1")
    assert (found["user_feedback_status"], found["feedback_confidence"]) == ("accepted", 1.0)
    assert (found["rejection_detected_in"], found["user_said"], found["judged_by_user"]) == (None, "Fine.", True)
    assert (await post(stack, "c-meta/turns/t1/feedback", {"reaction": None})).status_code == 202
    found = await metadata(stack, "c-meta", "t1")
    assert (found["user_feedback_status"], found["judged_by_user"]) == ("rejected", False)


async def test_detect_tells_the_planner_and_publishes_nothing(stack: RunningStack) -> None:
    await stack.publish(
        *turn_of("c-now", 1, 0, "When does it open?", "It opens at nine.", strategy="lookup"),
        *turn_of("c-now", 2, 2, "That's wrong, it opens at ten.", "It opens at eleven.", strategy="guess"),
    )
    await stack.quiet()
    before = dict(stack.stack.produced)
    body = {"text": "No, that's wrong again.", "turn_id": "t3", "ts": "2026-01-01T10:05:00Z"}
    found = (await post(stack, "c-now/detect", body)).json()
    assert (found["feedback"]["feedback_type"], found["feedback"]["correction_type"]) == ("rejected", "explicit")
    assert found["feedback"]["would_be_announced"]
    target = found["target"]
    assert (target["turn_id"], target["message_id"], target["turns_back"]) == ("t2", "c-now-2a", 1)
    assert target["score"] == pytest.approx(0.85 * target["similarity"] + 0.15 * target["recency"], abs=1e-5)
    assert found["rejections_in_a_row"] == 2
    markdown = found["planner_markdown"]
    assert markdown.startswith(
        "## 2. Gathered Context\n\n### Previous Response Feedback\n**Status:** REJECTED\n"
        "**Detected:** Turn t3 detected that Turn t2 was rejected\n"
        '**User said:** "No, that\'s wrong again."\n'
        '**Previous strategy:** guess with query "That\'s wrong, it opens at ten."\n'
        '**What went wrong:** "No, that\'s wrong again."\n'
        "\n"
        "**Instruction for Planner:**\n"
        "- Do NOT reuse the strategy from Turn t2: choose another than guess\n"
    )
    assert '- Turn t1, REJECTED: asked "When does it open?", answered "It opens at nine."\n' in markdown
    assert '- Rejected Turn t1, saying "That\'s wrong, it opens at ten."\n' in markdown
    assert "Multiple rejections - be more careful: 2 answers in a row" in markdown
    await stack.quiet()
    assert dict(stack.stack.produced) == before
    assert (await metadata(stack, "c-now", "t2"))["user_feedback_status"] == "neutral"


async def test_a_rejection_outweighs_the_praise_before_it(stack: RunningStack) -> None:
    await stack.publish(*turn_of("c-praised", 1, 0, "When does it open?", "It opens at nine.", strategy="lookup"))
    await stack.quiet()
    judgement = {"reaction": "ok", "ts": "2026-01-01T10:02:00Z"}
    assert (await post(stack, "c-praised/turns/t1/feedback", judgement)).status_code == 202
    await stack.quiet()
    body = {"text": "No, that's wrong: it is closed on Sunday.", "turn_id": "t2", "strategies": 5}
    later = (await post(stack, "c-praised/detect", body | {"ts": "2026-01-01T10:05:00Z"})).json()
    assert (later["rejections_in_a_row"], later["strategies"]) == (1, [])
    assert "**Status:** REJECTED\n**Detected:** Turn t2 detected" in later["planner_markdown"]
    elsewhere = body | {"ts": "2026-01-01T10:05:00Z", "look_back": "user", "user_id": "ann"}
    elsewhere |= {"text": "No, that's wrong: it opens at ten, not at nine."}
    assert "**Status:** REJECTED" in (await post(stack, "c-praised-new/detect", elsewhere)).json()["planner_markdown"]
    earlier = (await post(stack, "c-praised/detect", body | {"ts": "2026-01-01T10:01:30Z"})).json()
    assert earlier["rejections_in_a_row"] == 0


async def test_the_words_of_a_deleted_message_leave_its_turn(stack: RunningStack) -> None:
    question, answer = turn_of("c-deleted", 1, 0, "What is the capital of Peru?", "Quito, I think.", strategy="lookup")
    await stack.publish(question, answer)
    await stack.quiet()
    gone: dict[str, Any] = {"content": "(message deleted)", "turn": None}
    await stack.publish(
        said("c-deleted-1q", "c-deleted", 3, **gone, senderId="ann"),
        said("c-deleted-1a", "c-deleted", 4, **gone, agent="bot"),
    )
    await stack.quiet()
    texts = "select user_text, assistant_text from inference.turns where conversation_id = 'c-deleted' order by turn_id"
    assert {text for row in await stack.rows(texts) for text in row} <= {"", None}
    await stack.publish(question, answer)  # sent again
    await stack.quiet()
    assert {text for row in await stack.rows(texts) for text in row} <= {"", None}


async def test_detect_looks_back_over_all_of_a_persons_turns(stack: RunningStack) -> None:
    hotel = "The Seaview hotel has a room with a balcony."
    await stack.publish(
        *turn_of("c-hotel", 1, 0, "Where can I stay by the sea?", hotel, who="cyd"),
        *turn_of("c-train", 1, 10, "When does the train leave?", "It leaves at noon.", who="cyd"),
        *turn_of("c-train", 2, 12, "And the last one?", "The last train leaves at nine.", who="cyd"),
        *turn_of("c-bob", 1, 15, "Where is the Seaview hotel?", hotel, who="bob"),
    )
    await stack.quiet()
    body = {
        "text": "That's wrong, the Seaview hotel has no balcony.",
        "ts": "2026-01-01T10:20:00Z",
        "look_back": "user",
        "user_id": "cyd",
    }
    found = (await post(stack, "c-train/detect", body)).json()
    assert (found["feedback"]["feedback_type"], found["target"]["turn_id"]) == ("rejected", "t2")
    assert [(one["conversation_id"], one["turn_id"], one["turns_back"]) for one in found["candidates"]] == [
        ("c-hotel", "t1", 3),
        ("c-train", "t2", 1),
        ("c-train", "t1", 2),
    ]
    best = found["candidates"][0]
    assert best["score"] == pytest.approx(0.85 * best["similarity"] + 0.15 / 3, abs=1e-5)
    live = (await post(stack, "c-train/detect", body | {"look_back": "conversation"})).json()
    assert live == found | {"candidates": []}
    idle = (await post(stack, "c-train/detect", body | {"text": "🙂"})).json()
    assert (idle["feedback"]["feedback_type"], idle["candidates"]) == ("neutral", [])
    afresh = (await post(stack, "c-fresh/detect", body)).json()
    assert (afresh["feedback"]["feedback_type"], afresh["feedback"]["would_be_announced"]) == ("rejected", False)
    assert (afresh["target"], afresh["candidates"][0]["conversation_id"]) == (None, "c-hotel")
    assert "that Turn t1 was rejected" in afresh["planner_markdown"]
    unknown = (await post(stack, "c-fresh/detect", body | {"text": "That's wrong, Paris has no metro."})).json()
    assert (unknown["feedback"]["feedback_type"], unknown["candidates"]) == ("neutral", [])


async def praised(stack: RunningStack, conversation: str, answer: str, words: str, **fields: Any) -> None:
    """Publish an exchange on opening hours, and `words` after it."""
    opening = turn_of(conversation, 1, 0, "When does the zoo open?", answer, **fields)
    await stack.publish(*opening, *turn_of(conversation, 2, 2, words, "You are welcome."))


async def test_detect_lists_strategies_that_somebody_said_worked(stack: RunningStack) -> None:
    answer = "The zoo opens at nine."
    await praised(stack, "w-thanks", answer, "Thanks, that's perfect!", strategy="zoo_page", qualityScore=0.4)
    await praised(stack, "w-next", answer, "And when does the zoo close?", strategy="followed_up", qualityScore=0.9)
    await praised(stack, "w-other", answer, "Thanks, that's perfect!", strategy="of_another", agent="other")
    await praised(stack, "w-topic", answer, "best hamster food", strategy="left", qualityScore=0.9)
    await praised(stack, "w-failed", answer, "Thanks, that's perfect!", strategy="lookup", qualityScore=0.8)
    await praised(stack, "w-person", answer, "The train leaves at ten.", strategy="judged")
    await stack.quiet()
    assert (await post(stack, "w-person/turns/t1/feedback", {"reaction": "ok"})).status_code == 202
    await stack.quiet()
    body = {"text": "What time does the zoo open?", "strategies": 5}

    async def listed(**more: Any) -> tuple[list[str], str]:
        found = (await post(stack, "w-new/detect", body | more)).json()
        return [one["strategy"] for one in found["strategies"]], found["planner_markdown"] or ""

    names, markdown = await listed(agent_id="bot")
    assert names == ["lookup", "zoo_page", "judged"]
    assert markdown.endswith(
        "### Strategies That Worked for Similar Questions\n- lookup (quality 0.80)\n"
        "- zoo_page (quality 0.40)\n- judged\n"
    )
    assert set((await listed())[0]) == {"lookup", "zoo_page", "judged", "of_another"}
    previous = {"message_id": "m1", "content": answer, "strategy": "lookup", "question": "When does the zoo open?"}
    elsewhere = {"message_id": "m0", "content": "In Rome.", "question": "Where is the museum?", "agent_id": "bot"}
    by_bot, _ = await listed(previous=elsewhere)
    assert by_bot == ["lookup", "zoo_page", "judged"]
    rejected = {"text": "No, that's wrong.", "previous": previous | {"agent_id": "bot"}}
    names, markdown = await listed(**rejected)
    assert names == ["zoo_page", "judged"]
    assert "**Status:** REJECTED" in markdown and "choose another than lookup" in markdown
    assert await listed(strategies=0) == ([], "")
    assert await listed(text="Translate this letter into French", agent_id="bot") == ([], "")


async def test_a_published_message_is_judged_in_its_thread(stack: RunningStack) -> None:
    """The channel has an answer too, and the request names neither thread nor time."""
    thread = {"threadId": "d-root"}
    await stack.publish(
        said("d-root", "c-thread", 0, "Where is the tram stop?", turn="d1"),
        said("d-a", "c-thread", 1, "The tram stops at the library.", turn="d1", agent="bot", **thread),
        said("d-q2", "c-thread", 2, "When does the museum open?", turn="d2", senderId="bob"),
        said("d-a2", "c-thread", 3, "The museum opens at nine.", turn="d2", agent="bot"),
        said("d-no", "c-thread", 4, "That's wrong.", turn="d3", **thread),
    )
    await stack.quiet()
    body = {"text": "That's wrong.", "user_id": "ann", "message_id": "d-no"}
    answer = (await post(stack, "c-thread/detect", body)).json()
    named = (await post(stack, "c-thread/detect", {**body, "thread_id": "d-root", "ts": "2026-01-01T10:04:00Z"})).json()
    assert (answer["target"] or {}).get("message_id") == "d-a"
    assert answer["feedback"] == named["feedback"]
    assert answer["target"] == named["target"]


async def test_a_published_message_is_judged_as_the_reply_of_its_writer(stack: RunningStack) -> None:
    """The request has only the message's id and text."""
    await stack.publish(
        said("r-q1", "c-replies", 0, "When does the museum open?", turn="r1"),
        said("r-a1", "c-replies", 1, "The museum opens at nine.", turn="r1", agent="bot"),
        said("r-q2", "c-replies", 2, "Where is the tram stop?", turn="r2"),
        said("r-a2", "c-replies", 3, "The tram stops at the library.", turn="r2", agent="bot"),
        said("r-no", "c-replies", 4, "That's wrong.", turn="r3", replyToMessageId="r-a1"),
        said("r-bob", "c-replies", 5, "Where exactly is the tram stop?", turn="r4", senderId="bob"),
    )
    await stack.quiet()
    reply = (await post(stack, "c-replies/detect", {"text": "That's wrong.", "message_id": "r-no"})).json()
    assert reply["target"]["message_id"] == "r-a1"
    other = {"text": "Where exactly is the tram stop?", "message_id": "r-bob"}
    assert (await post(stack, "c-replies/detect", other)).json()["feedback"]["feedback_type"] == "neutral"


# Detection directly after an answer: only the route itself waits.

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
