"""Ratings over HTTP, from the request to every place that shows them, recounted from the requests alone."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.running_stack import RunningStack, exchange, running_stack

BASE = "/conversations/acme/support"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        yield running


def path_of(conversation: str, turn: str) -> str:
    return f"{BASE}/{conversation}/turns/{turn}/feedback"


async def rate(stack: RunningStack, conversation: str, turn: str, token: str = "ann", **body: Any) -> Any:
    async with stack.client(token) as http:
        return await http.post(path_of(conversation, turn), json=body)


async def read(stack: RunningStack, path: str, **body: Any) -> Any:
    await stack.quiet()
    async with stack.client() as http:
        answer = await (http.post(BASE + path, json=body) if body else http.get(BASE + path))
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("seed", range(2))
async def test_every_figure_equals_a_recount_of_the_requests(stack: RunningStack, seed: int) -> None:
    choose = random.Random(seed)
    agent = f"rated-{seed}"
    turns = [(f"c-count-{seed}-{number % 3}", f"t{number}") for number in range(6)]
    for conversation, turn in turns:
        await stack.publish(*exchange(conversation, turn, agent=agent))
    answers: dict[tuple[str, str], int | None] = {}
    for _ in range(60):
        # People of each run, because the number of a person's judgements in a minute is limited.
        (conversation, turn), user = choose.choice(turns), f"{choose.choice(['ann', 'bob', 'eve'])}-{seed}"
        rating = choose.choice([1, 2, 3, 4, 5, None])
        body = {"rating": rating, "scale": 5, "user_id": user}
        again = choose.choice([1, 1, 2])
        for _ in range(again):
            answer = await rate(stack, conversation, turn, "all", **body)
            assert answer.status_code == 202, answer.text
        answers[turn, user] = rating
    given = [one for one in answers.values() if one is not None]
    summary = await read(stack, f"/feedback/summary?agent_id={agent}&start=2020-01-01T00:00:00Z")
    totals = summary["totals"]
    assert (totals["ok"], totals["neutral"], totals["not_ok"], totals["total"]) == (
        sum(one > 3 for one in given),
        given.count(3),
        sum(one < 3 for one in given),
        len(given),
    )
    mean = sum(given) / len(given)
    [figures] = summary["ratings"]
    assert (figures["worst_rating"], figures["best_rating"], figures["ratings"]) == (1, 5, len(given))
    assert figures["mean"] == pytest.approx(mean)
    found = await read(stack, "/feedback/search", agent_id=agent, limit=200)
    assert sorted((one["turn_id"], one["user_id"], one["rating"]) for one in found["items"]) == sorted(
        (turn, user, rating) for (turn, user), rating in answers.items() if rating is not None
    )
    rewards = {one["rating"]: one["value"] for one in found["items"]}
    assert rewards.items() <= {1: -1.0, 2: -0.5, 3: 0.0, 4: 0.5, 5: 1.0}.items()
    async with stack.client() as http:
        page = await http.get("/", params={"at": "acme/support", "agent_id": agent, "period": "all"})
    assert f"Ratings: {mean:.1f} on the scale 1 to 5" in page.text
