"""Ratings over HTTP, from the request to every place that shows them, recounted from the requests alone."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from contracts.ids import feedback_id
from tests.support.running_stack import RunningStack, exchange, running_stack

BASE = "/conversations/acme/support"
SCALES = '{"polite": {"worst": 1, "best": 5}, "grade": {"worst": 6, "best": 1}}'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FEEDBACK_SCALES", SCALES)
        environment.setenv("FEEDBACK_SCALES_OF", '{"acme/support": {"grade": null}}')
        async with running_stack(postgres_url) as running:
            yield running


def path_of(conversation: str, turn: str) -> str:
    return f"{BASE}/{conversation}/turns/{turn}/feedback"


async def rate(stack: RunningStack, conversation: str, turn: str, token: str = "ann", **body: Any) -> Any:
    async with stack.client(token) as http:
        return await http.post(path_of(conversation, turn), json=body)


async def own(stack: RunningStack, conversation: str, turn: str) -> dict[str, Any]:
    await stack.quiet()
    async with stack.client("ann") as http:
        return dict((await http.get(path_of(conversation, turn))).json())


async def read(stack: RunningStack, path: str, **body: Any) -> Any:
    await stack.quiet()
    async with stack.client() as http:
        answer = await (http.post(BASE + path, json=body) if body else http.get(BASE + path))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_rating_of_the_answer_and_the_thumb_are_one_judgement(stack: RunningStack) -> None:
    await stack.publish(*exchange("c-one", "t1"))
    thumb = await rate(stack, "c-one", "t1", reaction="not_ok")
    rating = await rate(stack, "c-one", "t1", rating=4, scale=5, text="Nearly.")
    assert (thumb.status_code, rating.status_code) == (202, 202), rating.text
    assert rating.json()["feedback_id"] == thumb.json()["feedback_id"]
    held = await own(stack, "c-one", "t1")
    shown = {name: held[name] for name in ("reaction", "rating", "worst_rating", "best_rating", "text", "ratings")}
    assert shown == {
        "reaction": "ok",
        "rating": 4,
        "worst_rating": 1,
        "best_rating": 5,
        "text": "Nearly.",
        "ratings": [],
    }
    await rate(stack, "c-one", "t1", rating=None, scale=5)
    held = await own(stack, "c-one", "t1")
    assert (held["reaction"], held["rating"]) == (None, None)


async def test_a_rating_on_an_own_scale_changes_no_verdict_and_is_retracted_alone(stack: RunningStack) -> None:
    await stack.publish(*exchange("c-own", "t1"))
    await rate(stack, "c-own", "t1", reaction="ok")
    accepted = await rate(stack, "c-own", "t1", rating=1, scale="polite", text="Rude.")
    expected = feedback_id(
        "acme", "support", "c-own", source="rating", user_id="ann", agent_id="", source_id="t1:polite"
    )
    assert accepted.json()["feedback_id"] == str(expected)
    held = await own(stack, "c-own", "t1")
    assert (held["reaction"], held["rating"]) == ("ok", None)
    [polite] = held["ratings"]
    assert {name: polite[name] for name in ("scale", "rating", "worst_rating", "best_rating", "text")} == {
        "scale": "polite",
        "rating": 1,
        "worst_rating": 1,
        "best_rating": 5,
        "text": "Rude.",
    }
    latest = await read(stack, "/c-own/feedback/latest", turn_ids=None)
    assert [one["reaction"] for one in latest["items"]] == ["ok"]
    async with stack.client() as http:
        page = await http.get("/dashboard/conversation", params={"at": "acme/support", "id": "c-own"})
        listed = await http.get("/dashboard/feedback", params={"at": "acme/support", "type": "rating", "period": "all"})
    assert "1 of 5" in page.text and "Rude." in page.text
    assert "1 of 5" in listed.text and "no verdict" in listed.text
    await rate(stack, "c-own", "t1", rating=None, scale="polite")
    held = await own(stack, "c-own", "t1")
    assert (held["reaction"], held["ratings"]) == ("ok", [])


async def test_another_project_and_tenant_have_their_own_scales_and_ratings(stack: RunningStack) -> None:
    await stack.publish(
        *exchange("c-far", "t1"),
        *exchange("c-far", "t1", project="sales"),
        *exchange("c-far", "t1", tenant="globex"),
    )
    removed = await rate(stack, "c-far", "t1", rating=2, scale="grade")
    assert removed.status_code == 400
    assert removed.json()["detail"].endswith("one of the project's scales: polite.")
    async with stack.client() as http:
        kept = await http.post(
            "/conversations/acme/sales/c-far/turns/t1/feedback", json={"rating": 2, "scale": "grade", "user_id": "ann"}
        )
    assert kept.status_code == 202
    async with stack.client("gus") as http:
        foreign = "/conversations/globex/support/c-far/turns/t1/feedback"
        assert (await http.post(foreign, json={"rating": 5, "scale": "polite"})).status_code == 202
        await stack.quiet()
        assert [one["rating"] for one in (await http.get(foreign)).json()["ratings"]] == [5]
    assert (await own(stack, "c-far", "t1"))["ratings"] == []


async def test_hostile_ratings_are_refused_and_leave_nothing(stack: RunningStack) -> None:
    await stack.publish(*exchange("c-hostile", "t1"))
    for body in ('{"rating": NaN, "scale": 5}', '{"rating": true, "scale": 5}', '{"rating": 1e999, "scale": 5}'):
        async with stack.client("ann") as http:
            answer = await http.post(
                path_of("c-hostile", "t1"), content=body, headers={"content-type": "application/json"}
            )
        assert (answer.status_code, answer.json().keys()) == (400, {"detail"}), body
    held = await own(stack, "c-hostile", "t1")
    assert (held["reaction"], held["ratings"]) == (None, [])


@pytest.mark.parametrize("seed", range(2))
async def test_every_figure_equals_a_recount_of_the_requests(stack: RunningStack, seed: int) -> None:
    choose = random.Random(seed)
    agent = f"rated-{seed}"
    turns = [(f"c-count-{seed}-{number % 3}", f"t{number}") for number in range(6)]
    for conversation, turn in turns:
        await stack.publish(*exchange(conversation, turn, agent=agent))
    answers: dict[tuple[str, str], int | None] = {}
    polite: dict[tuple[str, str], int | None] = {}
    for _ in range(60):
        # People of each run, because the number of a person's judgements in a minute is limited.
        (conversation, turn), user = choose.choice(turns), f"{choose.choice(['ann', 'bob', 'eve'])}-{seed}"
        rating = choose.choice([1, 2, 3, 4, 5, None])
        held, scale = choose.choice([(answers, 5), (polite, "polite")])
        body = {"rating": rating, "scale": scale, "user_id": user}
        again = choose.choice([1, 1, 2])
        for _ in range(again):
            answer = await rate(stack, conversation, turn, "all", **body)
            assert answer.status_code == 202, answer.text
        held[turn, user] = rating
    given = [one for one in answers.values() if one is not None]
    on_scale = [one for one in polite.values() if one is not None]
    summary = await read(stack, f"/feedback/summary?agent_id={agent}&start=2020-01-01T00:00:00Z")
    totals = summary["totals"]
    assert (totals["ok"], totals["neutral"], totals["not_ok"], totals["total"]) == (
        sum(one > 3 for one in given),
        given.count(3),
        sum(one < 3 for one in given),
        len(given),
    )
    assert [(one["scale"], one["ratings"], one["mean"]) for one in summary["ratings"]] == [
        (None, len(given), pytest.approx(sum(given) / len(given))),
        ("polite", len(on_scale), pytest.approx(sum(on_scale) / len(on_scale))),
    ]
    found = await read(stack, "/feedback/search", agent_id=agent, limit=200)
    assert sorted((one["scale"] or "", one["turn_id"], one["user_id"], one["rating"]) for one in found["items"]) == (
        sorted(
            (name, turn, user, rating)
            for name, held in (("", answers), ("polite", polite))
            for (turn, user), rating in held.items()
            if rating is not None
        )
    )
    kto = [one for one in found["items"] if one["scale"] is None and one["value"]]
    assert {one["rating"]: one["value"] for one in kto}.items() <= {1: -1.0, 2: -0.5, 4: 0.5, 5: 1.0}.items()
    assert all(one["reaction"] is None for one in found["items"] if one["scale"])
    async with stack.client() as http:
        page = await http.get("/", params={"at": "acme/support", "agent": agent, "period": "all"})
    assert f"polite {sum(on_scale) / len(on_scale):.1f} on the scale 1 to 5" in page.text


async def test_an_erasure_removes_ratings(stack: RunningStack) -> None:
    await stack.publish(*exchange("c-gone", "t1"))
    await rate(stack, "c-gone", "t1", "all", rating=2, scale="polite", text="secret words", user_id="zoe")
    await rate(stack, "c-gone", "t1", "all", rating=2, scale=5, text="secret words", user_id="zoe")
    await stack.quiet()
    async with stack.client() as http:
        assert (await http.delete("/tenants/acme/users/zoe")).status_code == 202
    found = await read(stack, "/feedback/search", user_id="zoe")
    assert found["items"] == []
    for table in ("reporting.replies", "reporting.feedbacks"):
        assert await stack.rows(f"select from {table} where text = 'secret words'") == []
    [row] = await stack.rows("select count(*) as n from feedback.feedback where slots::text like '%secret words%'")
    assert row["n"] == 0
