"""Reviews of machine verdicts: over HTTP, by the transcript's form, and their effect on every figure."""

from __future__ import annotations

import json
from typing import Any

from contracts.ids import feedback_id
from tests.support.running_stack import RunningStack, exchange, message

BASE = "/conversations/acme/support"


async def judged_by_machine(stack: RunningStack, conversation: str) -> str:
    """Publish a turn that the machine judges as rejected. Return the verdict's id."""
    await stack.publish(*exchange(conversation, "t1"))
    await stack.publish(
        message("q2", conversation, content="No, that is wrong.", occurredAt="2026-01-01T10:01:00Z"),
        message("a2", conversation, agent="bot", turn="t2", occurredAt="2026-01-01T10:01:05Z"),
    )
    await stack.quiet()
    (row,) = await stack.rows(
        f"select feedback_id from reporting.effective where conversation_id = '{conversation}' and origin = 'machine'"
    )
    return str(row["feedback_id"])


def path_of(conversation: str, turn: str = "t1") -> str:
    return f"{BASE}/{conversation}/turns/{turn}/reviews"


async def sent(stack: RunningStack, conversation: str, body: Any, *, turn: str = "t1", **options: Any) -> Any:
    async with stack.client() as http:
        answer = await http.post(path_of(conversation, turn), json=body, **options)
    await stack.quiet()
    return answer


async def asked(stack: RunningStack, path: str, **query: Any) -> Any:
    async with stack.client() as http:
        answer = await http.get(f"{BASE}/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer


async def found(stack: RunningStack, **body: Any) -> list[dict[str, Any]]:
    async with stack.client() as http:
        return list((await http.post(f"{BASE}/feedback/search", json=body)).json()["items"])


async def everywhere(stack: RunningStack, conversation: str) -> dict[str, Any]:
    """Return the value of every counting place for a conversation with one turn: (origin, reaction), or a number."""
    window = {"start": "2026-01-01T00:00:00Z", "end": "2030-01-01T00:00:00Z"}
    async with stack.client() as http:
        period = await http.post(
            f"{BASE}/feedback/conversations-in-period", json={**window, "include_turns": True, "limit": 100}
        )
    (item,) = [one for one in period.json()["items"] if one["conversation_id"] == conversation]
    exported = (await asked(stack, "exports/kto", conversation_id=conversation, everyone=True)).text.splitlines()
    return {
        "list": [(one["origin"], one["reaction"]) for one in await found(stack, conversation_id=conversation)],
        "period": [(one["origin"], one["reaction"]) for turn in item["turns"] for one in turn["feedbacks"]],
        "counts": {name: n for name, n in item["feedback_counts"].items() if n},
        "kto": [(row["origin"], row["label"]) for row in map(json.loads, exported)],
    }


async def status_of(stack: RunningStack, conversation: str) -> str:
    (row,) = await stack.rows(
        f"select coalesce(user_status, machine_status) as status from inference.turns "
        f"where conversation_id = '{conversation}' and turn_id = 't1'"
    )
    return str(row["status"])


async def test_a_review_counts_everywhere_in_the_verdicts_place_until_it_is_retracted(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-1")
    before = await everywhere(stack, "r-1")
    assert before["list"] == before["period"] == [("machine", "not_ok")]
    assert before["kto"] == [("machine", False)]
    assert await status_of(stack, "r-1") == "rejected"
    body = {"verdict": verdict, "reaction": "ok", "text": "She meant the shop.", "correction": "It opens at ten."}
    answer = await sent(stack, "r-1", body)
    assert answer.status_code == 202, answer.text
    expected = feedback_id("acme", "support", "r-1", source="review", user_id="local", agent_id="", source_id="t1")
    assert answer.json()["feedback_id"] == str(expected)
    assert await everywhere(stack, "r-1") == {
        "list": [("reviewer", "ok")],
        "period": [("reviewer", "ok")],
        "counts": {"total": 1, "reviewer": 1, "ok": 1},
        "kto": [("reviewer", True)],
    }
    assert await status_of(stack, "r-1") == "accepted"
    (review,) = await found(stack, conversation_id="r-1")
    assert (review["reviews"], review["user_id"], review["feedback_type"], review["value"]) == (
        verdict,
        "local",
        "explicit",
        1.0,
    )
    assert (review["text"], review["correction"]) == ("She meant the shop.", "It opens at ten.")
    await sent(stack, "r-1", {"reaction": None})
    assert await everywhere(stack, "r-1") == before
    assert await status_of(stack, "r-1") == "rejected"


async def test_satisfaction_follows_the_review_and_calibration_still_reads_the_machine(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-2")
    window = {"start": "2026-01-01T00:00:00Z", "end": "2030-01-01T00:00:00Z"}
    before = (await asked(stack, "feedback/summary", **window)).json()["totals"]
    trusted = (await asked(stack, "feedback/calibration", **window)).json()
    await sent(stack, "r-2", {"verdict": verdict, "reaction": "ok"})
    after = (await asked(stack, "feedback/summary", **window)).json()["totals"]
    moved = {name: after[name] - before[name] for name in ("total", "user", "machine", "reviewer", "ok", "not_ok")}
    assert moved == {"total": 0, "user": 0, "machine": -1, "reviewer": 1, "ok": 1, "not_ok": -1}
    judged = (await asked(stack, "feedback/calibration", **window)).json()
    assert judged["pairs"] == trusted["pairs"] + 1
    assert judged["confusion"]["not_ok"]["ok"] == trusted["confusion"]["not_ok"]["ok"] + 1


async def test_a_reviewer_may_say_that_the_machine_is_right_and_judge_what_it_has_not_judged(
    stack: RunningStack,
) -> None:
    verdict = await judged_by_machine(stack, "r-3")
    await sent(stack, "r-3", {"verdict": verdict, "reaction": "not_ok"})
    assert [(one["origin"], one["value"]) for one in await found(stack, conversation_id="r-3")] == [("reviewer", -1.0)]
    assert (await sent(stack, "r-3", {"reaction": "not_ok"}, turn="t2")).status_code == 202
    unjudged = [one for one in await found(stack, conversation_id="r-3") if one["turn_id"] == "t2"]
    assert [(one["origin"], one["reviews"]) for one in unjudged] == [("reviewer", "t2")]
    assert (await sent(stack, "r-3", {"reaction": "ok"}, turn="t9")).status_code == 404


async def test_a_review_leaves_the_reviewers_own_feedback_alone(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-7")
    async with stack.client() as http:
        own = f"{BASE}/r-7/turns/t1/feedback"
        assert (await http.post(own, json={"reaction": "not_ok"})).status_code == 202
        await sent(stack, "r-7", {"verdict": verdict, "reaction": "ok"})
        await sent(stack, "r-7", {"verdict": verdict, "reaction": "neutral"})
        assert (await http.get(own)).json()["reaction"] == "not_ok"
    listed = {(one["origin"], one["reaction"]) for one in await found(stack, conversation_id="r-7")}
    assert listed == {("user", "not_ok"), ("reviewer", "neutral")}


# The audit in a browser: drawing answers, reviewing them by keyboard, and the figures that follow.
