"""Routes that any token may use are limited to the caller's own feedback, by scope and by the token's projects."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from contracts.scopes import ALL_SCOPES
from servicekit.web.auth import Caller
from tests.support.running_stack import RunningStack, exchange, running_stack

JUDGEMENT = "/conversations/acme/support/c1/turns/t1/feedback"
END = "/api/threads/c1/end"
STATUS = "/api/memory/status"
TOKENS = {
    f"{'*' if project is None else project} {scope}": Caller(
        "ann", "acme", project, frozenset() if scope == "none" else frozenset({scope})
    )
    for project in ("support", "sales", None)
    for scope in ("none", *sorted(ALL_SCOPES))
}
"""Ann's tokens by "project scope"."""


class OwnTokens:
    """Tokens of the table, and bob's."""

    async def authenticate(self, token: str) -> Caller | None:
        return Caller("bob", "acme", "support") if token == "bob" else TOKENS.get(token)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        await running.publish(*exchange("c1", "t1"))
        await running.quiet()
        yield running


def client(stack: RunningStack, token: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(stack.app(OwnTokens(), seconds=60))
    return httpx.AsyncClient(transport=transport, base_url="http://stack", headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("token", TOKENS)
async def test_another_person_needs_on_behalf(stack: RunningStack, token: str) -> None:
    project, scope = token.split(" ")
    here, for_others = project in ("support", "*"), scope == "on_behalf"
    async with client(stack, token) as http:
        for user_id in (None, "ann", "bob"):
            allowed = here and (for_others or user_id != "bob")
            body = {"reaction": "ok"} if user_id is None else {"reaction": "ok", "user_id": user_id}
            said = (await http.post(JUDGEMENT, json=body)).status_code
            assert said == (202 if allowed else 403), user_id
            query = {} if user_id is None else {"user_id": user_id}
            assert (await http.get(JUDGEMENT, params=query)).status_code == (200 if allowed else 403), user_id
        for user_id in ("ann", "bob"):
            ended = (await http.post(END, json={"feedback": "skip", "user_id": user_id})).status_code
            assert ended == (200 if for_others or user_id == "ann" else 403), user_id


async def test_ratings_are_ones_own_unless_the_token_reads_the_whole_tenant(stack: RunningStack) -> None:
    thread = {"thread_id": "c-rated"}
    for token, times in (("bob", 2), ("support none", 1)):
        async with client(stack, token) as http:
            for _ in range(times):
                assert (await http.post("/api/threads/c-rated/end", json={"feedback": "positive"})).status_code == 200
    for token in TOKENS:
        async with client(stack, token) as http:
            counted = (await http.get(STATUS, params=thread)).json()["session_feedback_count"]
            assert counted == (2 if token == "* read" else 1), token


@pytest.mark.parametrize(
    "body", [{"tenant": "globex"}, {"tenant": "globex", "project": "support"}, {"project": "sales"}]
)
async def test_a_session_of_another_place_is_refused(stack: RunningStack, body: dict[str, str]) -> None:
    async with client(stack, "support on_behalf") as http:
        assert (await http.post(END, json={"feedback": "skip"} | body)).status_code == 403
    async with client(stack, "* on_behalf") as http:
        ended = await http.post(END, json={"feedback": "skip"} | body)
        assert ended.status_code == (403 if "tenant" in body else 200)
        status = await http.get(STATUS, params={"thread_id": "c1", "tenant": "globex"})
        assert status.status_code == 403
