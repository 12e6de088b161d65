"""The limit of judgements per person over HTTP: 429 with Retry-After, for the person who is named or signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, exchange, running_stack

PATH = "/conversations/acme/support/limited/turns/t1/feedback"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FEEDBACK_PERSON_LIMIT", "2")
        async with running_stack(postgres_url) as running:
            await running.publish(*exchange("limited", "t1"))
            await running.quiet()
            yield running


async def statuses(stack: RunningStack, token: str, *people: str | None, path: str = PATH) -> list[int]:
    async with stack.client(token) as http:
        bodies: list[dict[str, Any]] = [{"reaction": "ok"} | ({"user_id": one} if one else {}) for one in people]
        return [(await http.post(path, json=body)).status_code for body in bodies]


async def test_a_person_above_the_limit_is_refused_until_a_token_has_flowed_in(stack: RunningStack) -> None:
    assert await statuses(stack, "ann", None, None) == [202, 202]
    async with stack.client("ann") as http:
        refused = await http.post(PATH, json={"reaction": "not_ok"})
        await stack.rows("update feedback.buckets set full_at = full_at - interval '30 seconds'")
        again = await http.post(PATH, json={"reaction": "neutral"})
    seconds = int(refused.headers["Retry-After"])
    assert (refused.status_code, 0 < seconds <= 30) == (429, True)
    assert refused.json() == {"detail": f"A person may send 2 judgements a minute; try again in {seconds} s."}
    assert again.status_code == 202
    await stack.quiet()
    [held] = await stack.rows(
        "select slots -> '' -> 'payload' ->> 'reaction' as reaction from feedback.feedback where user_id = 'ann'"
    )
    assert held["reaction"] == "neutral", "the refused judgement is nowhere"


async def test_the_limit_of_a_back_end_is_that_of_the_people_it_names(stack: RunningStack) -> None:
    assert await statuses(stack, "chat", "dan", "eve", "dan", "eve", "dan", "eve") == [202] * 4 + [429] * 2
    assert await statuses(stack, "chat", None, None, None, None) == [202] * 4, "visitors whom it does not name"
    assert await statuses(stack, "all", "dan", None, None, None) == [429] + [202] * 3


async def test_judgements_of_unknown_turns_take_a_token_and_reviews_do_not(stack: RunningStack) -> None:
    """A look-up of an unknown turn may wait, so it must not be free."""
    unknown = PATH.replace("t1", "t9")
    assert await statuses(stack, "chat", "fay", "fay", "fay", path=unknown) == [404] * 2 + [429]
    reviews = PATH.replace("/feedback", "/reviews")
    assert await statuses(stack, "reviewer", None, None, None, path=reviews) == [202] * 3


async def test_an_erasure_removes_the_bucket(stack: RunningStack) -> None:
    assert await statuses(stack, "chat", "gil") == [202]
    await erased(stack, "gil")
    assert await stack.rows("select * from feedback.buckets where user_id = 'gil'") == []
