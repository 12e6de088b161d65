"""Impressions over HTTP: counted once per person and turn, with the responses, and never changing any feedback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from contracts.instants import DAY, format_instant
from contracts.topics import IMPRESSIONS_RECEIVED
from proofs.chaos.logs import records_of
from servicekit.log.messages import Message
from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, exchange, running_stack

RATES = "/conversations/acme/support/feedback/response-rates"
WINDOW = {"start": "2026-01-01T00:00:00Z", "end": "2200-01-01T00:00:00Z"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        yield running


async def seen(stack: RunningStack, token: str, conversation: str, *turns: str, **more: Any) -> int:
    """Report impressions of known turns, or of unknown ones; return the status, and check that a 202 accepts all."""
    path = f"/conversations/acme/support/{conversation}/impressions"
    async with stack.client(token) as http:
        answer = await http.post(path, json={"turn_ids": list(turns), **more})
    if answer.status_code == 202:
        assert answer.json() == {"accepted": len(set(turns))}
    return answer.status_code


async def answered(stack: RunningStack, agent: str, *turns: str, **more: Any) -> None:
    """Publish answers of `agent`, each as `conversation turn`, and wait until they are known."""
    for turn in turns:
        await stack.publish(*exchange(*turn.split(" "), agent=agent, **more))
    await stack.quiet()


async def rates(stack: RunningStack, **filters: str) -> dict[str, Any]:
    await stack.quiet()
    async with stack.client("reviewer") as http:
        answer = await http.get(RATES, params=WINDOW | filters)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def counts(figures: dict[str, Any]) -> tuple[int, ...]:
    names = ("turns", "turns_with_feedback", "impressions", "viewers", "responses")
    return tuple(figures[name] for name in names)


async def judge(stack: RunningStack, conversation: str, turn: str, **body: Any) -> None:
    async with stack.client("chat") as http:
        path = f"/conversations/acme/support/{conversation}/turns/{turn}/feedback"
        assert (await http.post(path, json=body)).status_code == 202


async def test_each_pair_counts_once_and_responses_are_those_of_the_person(stack: RunningStack) -> None:
    await answered(stack, "bot", "c1 t1", "c2 t1")
    await answered(stack, "guide", "c1 t2")
    # Ann sees both turns of c1 several times, Bob one of them, and nobody sees c2.
    assert await seen(stack, "ann", "c1", "t1", "t2") == 202
    assert await seen(stack, "ann", "c1", "t2", "t2") == 202
    assert await seen(stack, "chat", "c1", "t1", user_id="ann") == 202
    assert await seen(stack, "chat", "c1", "t1", user_id="bob") == 202
    await judge(stack, "c1", "t1", reaction="ok", user_id="ann")
    # A judgement of a person who did not see the controls is feedback on the turn, but not a response.
    await judge(stack, "c2", "t1", reaction="not_ok", user_id="cy")
    found = await rates(stack)
    assert counts(found["totals"]) == (3, 2, 3, 2, 1)
    assert found["totals"]["feedback_share"] == pytest.approx(2 / 3)
    assert found["totals"]["response_rate"] == pytest.approx(1 / 3)
    assert found["totals"]["response_rate_low"] < 1 / 3 < found["totals"]["response_rate_high"]
    assert (found["turns_complete"], found["impressions_complete"]) == (True, True)
    assert {one["agent_id"]: counts(one) for one in found["by_agent"]} == {
        "bot": (2, 2, 2, 2, 1),
        "guide": (1, 0, 1, 1, 0),
    }
    assert counts((await rates(stack, agent_id="guide"))["totals"]) == (1, 0, 1, 1, 0)
    # A retracted judgement is not a response.
    await judge(stack, "c1", "t1", reaction=None, user_id="ann")
    assert counts((await rates(stack))["totals"]) == (3, 1, 3, 2, 0)
    # A rating on a scale of the project's own is one, although it is not a verdict.
    await judge(stack, "c1", "t1", rating=4, scale="polite", user_id="bob")
    assert counts((await rates(stack))["totals"]) == (3, 1, 3, 2, 1)


async def test_versions_are_counted_apart(stack: RunningStack) -> None:
    for number, version in enumerate(("1", "2", "2")):
        question, answer = exchange("versions", f"t{number}", agent="versioned")
        await stack.publish(question, answer | {"agentVersion": version, "model": f"m-{version}"})
    await stack.quiet()
    assert await seen(stack, "ann", "versions", "t0", "t1", "t2") == 202
    found = await rates(stack, agent_id="versioned")
    assert [(one["agent_version"], one["turns"], one["impressions"]) for one in found["by_agent_version"]] == [
        ("2", 2, 2),
        ("1", 1, 1),
    ]
    for filters in ({"agent_version": "2"}, {"model": "m-2"}):
        assert counts((await rates(stack, **filters))["totals"]) == (2, 0, 2, 1, 0)


async def test_an_event_counts_once_however_often_the_log_delivers_it(stack: RunningStack) -> None:
    await answered(stack, "repeated", "repeats t1")
    assert await seen(stack, "ann", "repeats", "t1") == 202
    await stack.quiet()
    key = "acme/support/repeats"
    [record] = [one for one in await records(stack) if one.key.decode() == key]
    event = json.loads(record.value)
    rows = "select * from reporting.impressions where conversation_id = 'repeats'"
    [before] = await stack.rows(rows)
    for number, later in enumerate((0, DAY)):
        again = {"eventId": f"again-{number}", "occurredAt": format_instant(before["occurred_at"] - DAY + later)}
        value = json.dumps(event | again).encode()
        await stack.stack.log.send([Message(IMPRESSIONS_RECEIVED.name, key, value)] * 3)
        await stack.quiet()
        [row] = await stack.rows(rows)
        assert row["occurred_at"] == before["occurred_at"] - DAY, "the first time, in any order"
    assert counts((await rates(stack, agent_id="repeated"))["totals"]) == (1, 0, 1, 1, 0)


async def test_feedback_does_not_depend_on_impressions(stack: RunningStack) -> None:
    await answered(stack, "bot", "apart t1")
    await judge(stack, "apart", "t1", reaction="ok", user_id="ann")
    await stack.quiet()

    async def announced() -> list[Any]:
        found = await records_of(stack.broker.bootstrap, "feedback.created")
        return [record.value for record in found if b'"apart"' in record.value]

    before, held = await announced(), await stack.rows("select * from feedback.feedback order by feedback_id")
    assert await seen(stack, "chat", "apart", "t1", user_id="ann") == 202
    await stack.quiet()
    assert await announced() == before and len(before) == 1
    assert await stack.rows("select * from feedback.feedback order by feedback_id") == held


async def test_impressions_are_of_turns_that_the_person_may_judge(stack: RunningStack) -> None:
    await answered(stack, "bot", "allowed t1")
    refused = {
        "an unknown turn": await seen(stack, "ann", "allowed", "t9"),
        "an unknown conversation": await seen(stack, "ann", "c9", "t1"),
        "another tenant": await seen(stack, "gus", "allowed", "t1"),
        "another person": await seen(stack, "ann", "allowed", "t1", user_id="bob"),
        "no token": await seen(stack, "nobody", "allowed", "t1"),
        "no turns": await seen(stack, "ann", "allowed"),
        "51 turns": await seen(stack, "ann", "allowed", *(f"t{number}" for number in range(51))),
        "a text": await seen(stack, "ann", "allowed", "t1", text="words"),
    }
    assert refused == {
        "an unknown turn": 404,
        "an unknown conversation": 404,
        "another tenant": 403,
        "another person": 403,
        "no token": 401,
        "no turns": 422,
        "51 turns": 422,
        "a text": 422,
    }
    async with stack.client("gus") as http:
        theirs = await http.post("/conversations/globex/support/allowed/impressions", json={"turn_ids": ["t1"]})
    assert theirs.status_code == 404, "a turn of another tenant is unknown"
    await stack.quiet()
    rows = "select turn_id from reporting.impressions where conversation_id = 'allowed'"
    assert await stack.rows(rows) == []
    turns = [*(f"unknown {number}" for number in range(49)), "t1"]
    async with stack.client("ann") as http:
        answer = await http.post("/conversations/acme/support/allowed/impressions", json={"turn_ids": turns})
    assert (answer.status_code, answer.json()) == (202, {"accepted": 1})
    await stack.quiet()
    assert [row["turn_id"] for row in await stack.rows(rows)] == ["t1"]


async def test_tenants_are_counted_apart(stack: RunningStack) -> None:
    await answered(stack, "common", "tenants t1")
    await answered(stack, "common", "tenants t1", tenant="globex")
    assert await seen(stack, "ann", "tenants", "t1") == 202
    async with stack.client("gus") as http:
        answer = await http.post("/conversations/globex/support/tenants/impressions", json={"turn_ids": ["t1"]})
        assert answer.status_code == 202
        assert (await http.get(RATES, params=WINDOW)).status_code == 403
    await judge(stack, "tenants", "t1", reaction="ok", user_id="ann")
    assert counts((await rates(stack, agent_id="common"))["totals"]) == (1, 1, 1, 1, 1)
    async with stack.client() as http:
        theirs = (await http.get(RATES.replace("acme", "globex"), params=WINDOW)).json()
    assert counts(theirs["totals"]) == (1, 0, 1, 1, 0)


async def test_an_erasure_removes_impressions_and_a_replay_restores_none(stack: RunningStack) -> None:
    await answered(stack, "forgetful", "erased t1")
    for user in ("eve", "bob"):
        assert await seen(stack, "chat", "erased", "t1", user_id=user) == 202
    await stack.quiet()
    before = [one for one in await records(stack) if one.key == b"acme/support/erased"]
    await erased(stack, "eve")
    assert await stack.rows("select * from feedback.impression_buckets where user_id = 'eve'") == []
    for record in before:
        await stack.stack.log.send([Message(IMPRESSIONS_RECEIVED.name, record.key.decode(), record.value)])
    await stack.quiet()
    left = await stack.rows("select user_id from reporting.impressions where conversation_id = 'erased'")
    assert (len(before), [row["user_id"] for row in left]) == (2, ["bob"])
    assert counts((await rates(stack, agent_id="forgetful"))["totals"]) == (1, 0, 1, 1, 0)


async def records(stack: RunningStack) -> list[Any]:
    return list(await records_of(stack.broker.bootstrap, IMPRESSIONS_RECEIVED.name))


async def test_impressions_have_a_limit_of_their_own(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDBACK_PERSON_LIMIT", "2")
    async with running_stack(postgres_url) as stack:
        await stack.publish(*exchange("c1", "t1"))
        await stack.quiet()
        async with stack.client("ann") as http:
            path, body = "/conversations/acme/support/c1/impressions", {"turn_ids": ["t1"]}
            answers = [await http.post(path, json=body) for _ in range(3)]
            assert [one.status_code for one in answers] == [202, 202, 429]
            seconds = int(answers[-1].headers["Retry-After"])
            assert answers[-1].json() == {
                "detail": f"A person may send 2 requests with impressions a minute; try again in {seconds} s."
            }
            judged = await http.post("/conversations/acme/support/c1/turns/t1/feedback", json={"reaction": "ok"})
            assert judged.status_code == 202, "who reads many answers can still judge them"
        assert [await seen(stack, "chat", "c1", "t1") for _ in range(3)] == [202] * 3, "a back end that names nobody"
        unknown = [await seen(stack, "chat", "c1", "t9", user_id="bob") for _ in range(3)]
        assert unknown == [404, 404, 429], "looking up turns counts, too"
        assert counts((await rates(stack))["totals"]) == (1, 1, 2, 2, 1)
