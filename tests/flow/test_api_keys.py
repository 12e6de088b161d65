"""Keys of programs: created and revoked by administrators, limited to their scopes and projects, in all services."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from contracts.instants import DAY
from reporting.access.keys import ApiKeys
from reporting.access.roles import ALL, ProjectSet
from servicekit.errors import RequestRefused
from servicekit.web.auth import AnyOf, AnyOfLater
from tests.support.databases import empty_schema
from tests.support.hand_clock import HandClock
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack

EVERYWHERE = ProjectSet(ALL, (ALL,))
PATH = "/dashboard/access/keys"
ADMIN = {"Authorization": "Bearer all"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        await running.publish(*exchange("c1", "t1"))
        await running.quiet()
        yield running


async def test_a_key_of_the_page_works_until_it_is_revoked(stack: RunningStack) -> None:
    transport = httpx.ASGITransport(
        stack.app(AnyOf(Tokens(), AnyOfLater(lambda: stack.stack.authenticators)), seconds=60)
    )
    async with httpx.AsyncClient(transport=transport, base_url="http://stack") as http:
        form = {"name": "crm", "scope": ["on_behalf", "read"], "place": "acme/support", "days": "90"}
        page = (await http.post(PATH, data=form, headers=ADMIN)).text
        found = re.search(r'value="(afk_[\w-]{43})"', page)
        assert found
        assert found[1] not in (await http.get("/dashboard/access", headers=ADMIN)).text, "shown once"
        assert found[1] not in str(await stack.rows("select * from reporting.api_keys"))
        key = {"Authorization": f"Bearer {found[1]}"}
        turn = "/conversations/acme/{}/c1/turns/t1/feedback"
        for place, body, status in (
            ("support", {"reaction": "ok", "user_id": "bob"}, 202),
            ("support", {"reaction": "ok"}, 403),
            ("sales", {"reaction": "ok", "user_id": "bob"}, 403),
        ):
            assert (await http.post(turn.format(place), json=body, headers=key)).status_code == status, body
        assert (await http.post("/conversations/acme/support/feedback/search", json={}, headers=key)).status_code == 200
        assert (await http.get("/conversations/acme/support/exports/kto", headers=key)).status_code == 403
        assert (await http.post(PATH, data=form, headers=key)).status_code == 403
        [row] = await stack.rows("select id, used_at from reporting.api_keys")
        assert row["used_at"] is not None
        said = await http.post(PATH, data={"revoke": str(row["id"])}, headers=ADMIN)
        assert (said.status_code, "crm was revoked" in said.text) == (200, True)
        assert (await http.get("/access/caller", headers=key)).status_code == 401
        assert (await http.post(PATH, data={"revoke": str(row["id"])}, headers=ADMIN)).status_code == 404
        assert (await http.post(PATH, data={"revoke": "x"}, headers=ADMIN)).status_code == 404


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"name": ""}, 422), ({"name": "a\nb"}, 422), ({"scopes": []}, 422), ({"scopes": ["all"]}, 422),
        ({"days": "0"}, 422), ({"days": "3651"}, 422), ({"days": "٣"}, 422), ({"places": []}, 422),
        ({"places": ["globex/support"]}, 403), ({"places": ["acme/*"]}, 403), ({"places": ["*/*"]}, 403), ({}, 0),
    ],
)  # fmt: skip
async def test_an_administrator_creates_keys_of_their_projects(
    postgres_url: str, changed: dict[str, object], status: int
) -> None:
    within = ProjectSet("acme", ("sales", "support"))
    values = {"name": "n", "scopes": ["read"], "places": ["acme/support"], "days": "1", "within": within, "by": "t"}
    async with empty_schema(postgres_url, "reporting") as pool:
        keys = ApiKeys(pool, HandClock())
        if status:
            with pytest.raises(RequestRefused) as refused:
                await keys.add(**values | changed)  # type: ignore[arg-type]
            assert refused.value.status == status
        else:
            assert await keys.authenticate(await keys.add(**values)) is not None  # type: ignore[arg-type]


async def test_a_key_expires_and_is_revoked_by_its_own_administrators_only(postgres_url: str) -> None:
    clock = HandClock()
    async with empty_schema(postgres_url, "reporting") as pool:
        keys = ApiKeys(pool, clock)
        key = await keys.add("n", ["detect"], ["acme/support", "acme/sales"], "2", EVERYWHERE, "t")
        [shown] = await keys.list(ProjectSet("acme", (ALL,)))
        for other in (ProjectSet("globex", (ALL,)), ProjectSet("acme", ("support",))):
            assert await keys.list(other) == []
            with pytest.raises(RequestRefused):
                await keys.revoke(str(shown.id), other)
        caller = await keys.authenticate(key)
        assert caller and (caller.tenant, caller.projects, caller.scopes) == (
            "acme", ["sales", "support"], frozenset({"detect"}),
        )  # fmt: skip
        clock.forward(2 * DAY / 1_000_000 - 1)
        assert await keys.authenticate(key) is not None
        clock.forward(1)
        assert await keys.authenticate(key) is None, "also while it is remembered"
