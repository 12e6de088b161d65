"""Keys of colleagues and programs: made by administrators, limited to their scopes and projects, in all services."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from contracts.instants import DAY
from contracts.scopes import ALL_SCOPES, ROLES
from reporting.access.keys import MOST_KEYS, ApiKeys
from reporting.access.sign_in import sign_in
from servicekit.clock import SystemClock
from servicekit.errors import RequestRefused
from servicekit.web.auth import AccessToken, AnyOf, AnyOfLater, Caller
from servicekit.web.guard import Guard
from servicekit.web.projects import ALL, ProjectSet
from servicekit.web.remote_keys import RemoteKeys
from tests.support.command import COMMAND, HANG_SECONDS, state_folder
from tests.support.databases import empty_schema
from tests.support.filled_rows import insert
from tests.support.hand_clock import HandClock
from tests.support.issuer import issuers_file
from tests.support.ports import free_port
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack
from tests.support.served import served
from tests.support.waits import PATIENCE_SECONDS

PLATFORM = Caller("command line", scopes=ALL_SCOPES)


OWN = {"Origin": "http://stack"}


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
        own = (await http.get("/access/caller", headers=key)).json()
        assert (own["subject"], own["projects"], own["is_person"]) == ("member:crm", ["support"], False)
        [row] = await stack.rows("select id, used_at from reporting.api_keys where name = 'crm'")
        assert row["used_at"] is not None
        said = await http.post(PATH, data={"revoke": str(row["id"])}, headers=ADMIN)
        assert (said.status_code, "The key of crm was revoked" in said.text) == (200, True)
        assert (await http.get("/access/caller", headers=key)).status_code == 401
        taken = await http.post(PATH, data=form, headers=ADMIN)
        assert taken.status_code == 409, "the name stays with the person"
        renewed = re.search(
            r'value="(afk_[\w-]{43})"', (await http.post(PATH, data={"renew": str(row["id"])}, headers=ADMIN)).text
        )
        assert renewed and renewed[1] != found[1]
        again = await http.get("/access/caller", headers={"Authorization": f"Bearer {renewed[1]}"})
        assert again.json() == own, "the same person"
        assert (await http.get("/access/caller", headers=key)).status_code == 401
        assert (await http.post(PATH, data={"revoke": "x"}, headers=ADMIN)).status_code == 404


async def test_a_colleague_signs_in_with_a_key_and_stays_signed_in_until_it_ends(stack: RunningStack) -> None:
    app = stack.app(AnyOf(Tokens(), AnyOfLater(lambda: stack.stack.authenticators)), seconds=60)
    turn = "/conversations/acme/support/c1/turns/t1/reviews"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://stack") as http:
        form = {"name": "Ann@Example.org", "scope": ["read", "review"], "place": "acme/support", "days": "9"}
        page = (await http.post(PATH, data=form, headers=ADMIN)).text
        [key] = re.findall(r'value="(afk_[\w-]{43})"', page)
        front = await http.get("/dashboard/feedback", headers={"Accept": "text/html"})
        assert front.status_code == 401
        assert 'autocomplete="username"' in front.text and 'autocomplete="current-password"' in front.text
        wrong = await http.post("/sign-in", data={"token": "afk_" + "x" * 43}, headers=OWN)
        assert (wrong.status_code, "does not work" in wrong.text, http.cookies.get("agent_feedback_token")) == (
            422,
            True,
            None,
        )
        signed_in = await http.post("/sign-in", data={"token": key, "next": "/dashboard/feedback"}, headers=OWN)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/dashboard/feedback")
        assert {"httponly", "samesite=lax", "max-age=34560000"} <= {
            flag.strip().lower() for flag in signed_in.headers["set-cookie"].split(";")
        }
        assert (await http.get("/dashboard/feedback")).status_code == 200
        assert (await http.get("/dashboard/feedback?at=acme/sales")).status_code in (403, 404)
        assert (await http.post(turn, json={"reaction": "ok"}, headers=OWN)).status_code == 202
        await stack.quiet()
        [review] = await stack.rows("select user_id from reporting.feedbacks where origin = 'reviewer'")
        assert review["user_id"] == "member:ann@example.org"
        assert (await http.post(PATH, data=form, headers=OWN)).status_code == 403
        [row] = await stack.rows("select id from reporting.api_keys where name = 'ann@example.org'")
        await http.post(PATH, data={"revoke": str(row["id"])}, headers=ADMIN)
        assert (await http.get("/dashboard/feedback")).status_code == 401
        assert (await http.post("/sign-out", headers=OWN)).status_code == 401


CHANGES = [
    ("POST", "/dashboard/access/keys", {"data": {"name": "x"}}),
    ("POST", "/conversations/acme/support/c1/turns/t1/reviews", {"json": {"reaction": "ok"}}),
    ("POST", "/conversations/acme/support/c1/turns/t1/feedback", {"json": {"reaction": "ok", "user_id": "bob"}}),
    ("DELETE", "/tenants/acme/users/nobody", {}),
    ("POST", "/sign-out", {}),
]


@pytest.mark.parametrize(("method", "path", "sent"), CHANGES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.test"},
        {"Origin": "http://stack.evil.test"},
        {"Origin": "http://stack:8080"},
        {"Origin": "https://evil.test", "Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_a_cookie_changes_nothing_for_a_page_of_another_site(
    stack: RunningStack, method: str, path: str, sent: dict[str, object], headers: dict[str, str]
) -> None:
    app = stack.app(Tokens(), seconds=60)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://stack") as http:
        assert (await http.post("/sign-in", data={"token": "all"}, headers=headers)).status_code == 403
        http.cookies.set("agent_feedback_token", "all")
        refused = await http.request(method, path, headers=headers, **sent)  # type: ignore[arg-type]
        assert refused.status_code == 403, refused.text
        assert (await http.get("/dashboard/access", headers=headers)).status_code == 200
        bearer = await http.request("DELETE", "/tenants/acme/users/nobody", headers={**headers, **ADMIN})
        assert bearer.status_code == (403 if headers else 202), "with a token, a program names no origin"


@pytest.mark.parametrize("lacks", sorted(ROLES["admin"]))
async def test_nobody_gives_access_that_they_lack(stack: RunningStack, lacks: str) -> None:
    class OneToken:
        async def authenticate(self, token: str) -> Caller | None:
            return Caller("eraser", "acme", None, ROLES["admin"] - {lacks})

    transport = httpx.ASGITransport(stack.app(OneToken(), seconds=60))
    async with httpx.AsyncClient(transport=transport, base_url="http://stack", headers=ADMIN) as http:
        form = {"name": f"mole-{lacks}", "scope": ["detect", lacks], "place": "acme/support", "days": "9"}
        assert (await http.post(PATH, data=form)).status_code == 403
    assert await stack.rows("select * from reporting.api_keys where name like 'mole-%'") == []


async def test_another_service_asks_reporting(stack: RunningStack) -> None:
    [keys] = stack.stack.authenticators
    assert isinstance(keys, ApiKeys)
    token = (await keys.add("remote", ["read"], ["acme/support", "acme/sales"], "1", PLATFORM)).secret
    remote = RemoteKeys("http://reporting", SystemClock(), httpx.ASGITransport(stack.app(keys, seconds=60)))
    assert await remote.authenticate(token) == await keys.authenticate(token)
    assert await remote.authenticate("afk_" + "x" * 43) is None
    assert await remote.authenticate("all") is None
    await remote.close()


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"name": ""}, 422), ({"name": "a\nb"}, 422), ({"name": "a b"}, 422), ({"scopes": []}, 422),
        ({"scopes": ["all"]}, 422), ({"scopes": ["read", "detect"]}, 403),
        ({"days": "0"}, 422), ({"days": "3651"}, 422), ({"days": "٣"}, 422), ({"projects": []}, 422),
        ({"projects": ["globex/support"]}, 403), ({"projects": ["acme/*"]}, 403), ({"projects": ["*/*"]}, 403), ({}, 0),
    ],
)  # fmt: skip
async def test_an_administrator_creates_keys_of_their_projects(
    postgres_url: str, changed: dict[str, object], status: int
) -> None:
    maker = ProjectSet("acme", ("sales", "support")).member("t", frozenset({"admin", "read"}))
    values = {"name": "n", "scopes": ["read"], "projects": ["acme/support"], "days": "1", "maker": maker}
    async with empty_schema(postgres_url, "reporting") as pool:
        keys = ApiKeys(pool, HandClock())
        if status:
            with pytest.raises(RequestRefused) as refused:
                await keys.add(**values | changed)  # type: ignore[arg-type]
            assert refused.value.status == status
        else:
            assert await keys.authenticate((await keys.add(**values)).secret) is not None  # type: ignore[arg-type]


async def test_a_key_expires_and_is_revoked_by_its_own_administrators_only(postgres_url: str) -> None:
    clock = HandClock()
    async with empty_schema(postgres_url, "reporting") as pool:
        keys = ApiKeys(pool, clock)
        key = (await keys.add("n", ["detect"], ["acme/support", "acme/sales"], "2", PLATFORM)).secret
        [shown] = await keys.list(ProjectSet("acme", (ALL,)).member("t", ALL_SCOPES))
        for projects in (ProjectSet("globex", (ALL,)), ProjectSet("acme", ("support",))):
            other = projects.member("t", ALL_SCOPES)
            assert await keys.list(other) == []
            with pytest.raises(RequestRefused):
                await keys.revoke(str(shown["id"]), other)
            with pytest.raises(RequestRefused):
                await keys.renew(str(shown["id"]), "1", other)
        with pytest.raises(RequestRefused):
            await keys.renew(str(shown["id"]), "1", Caller("t", scopes=ALL_SCOPES - {"detect"}))
        caller = await keys.authenticate(key)
        assert caller and (caller.tenant, caller.projects, caller.scopes) == (
            "acme", ["sales", "support"], frozenset({"detect"}),
        )  # fmt: skip
        clock.forward(2 * DAY / 1_000_000 - 1)
        assert await keys.authenticate(key) is not None
        clock.forward(1)
        assert await keys.authenticate(key) is None


async def test_a_name_belongs_to_one_person_of_a_tenant(postgres_url: str) -> None:
    """Tenants do not see each other's names; the platform's names are nobody else's."""
    async with empty_schema(postgres_url, "reporting") as pool:
        keys = ApiKeys(pool, HandClock())
        await keys.add("ann", ["read"], ["acme/support"], "1", PLATFORM)
        await keys.add("ann", ["read"], ["globex/support"], "1", PLATFORM)
        await keys.add("olga", ["read"], ["*/*"], "1", PLATFORM)
        for name, project in (("Ann ", "acme/sales"), ("ann", "*/*"), ("olga", "acme/support"), ("olga", "*/*")):
            with pytest.raises(RequestRefused) as refused:
                await keys.add(name, ["read"], [project], "1", PLATFORM)
            assert refused.value.status == 409, (name, project)


async def test_a_tenant_has_five_hundred_keys_at_most(postgres_url: str) -> None:
    async with empty_schema(postgres_url, "reporting") as pool:
        keys = ApiKeys(pool, HandClock())
        rows = [
            {"name": f"n{n}", "tenant": "acme", "projects": ["sales"], "key_hash": str(n).encode()}
            for n in range(MOST_KEYS - 1)
        ]
        await insert(pool, "api_keys", *rows)
        await keys.add("last", ["read"], ["acme/support"], "1", PLATFORM)
        with pytest.raises(RequestRefused) as refused:
            await keys.add("more", ["read"], ["acme/support"], "1", PLATFORM)
        assert refused.value.status == 409
        await keys.add("elsewhere", ["read"], ["globex/support"], "1", PLATFORM)
        [last] = await keys.list(ProjectSet("acme", ("support",)).member("t", ALL_SCOPES))
        await keys.revoke(str(last["id"]), PLATFORM)
        await keys.add("more", ["read"], ["acme/support"], "1", PLATFORM)


async def test_the_last_use_of_a_key_is_known_to_the_minute(postgres_url: str) -> None:
    clock = HandClock()
    async with empty_schema(postgres_url, "reporting") as pool:
        keys = ApiKeys(pool, clock)
        key = (await keys.add("n", ["read"], ["acme/support"], "1", PLATFORM)).secret
        first = clock.now()
        used = []
        for seconds in (0, 59, 1, 30):
            clock.forward(seconds)
            assert await keys.authenticate(key)
            used += [shown["used_at"] for shown in await keys.list(PLATFORM)]
        assert used == [first, first, first + 60_000_000, first + 60_000_000]
        for wrong in (key[:-1], key + "x", "afs_" + key[4:], key.upper()):
            assert await keys.authenticate(wrong) is None


# `agent-feedback up` with an issuer: people with their own tokens, the operator with the printed one.

EXAMPLE = Path(__file__).parents[2] / "examples" / "issuer.py"


@asynccontextmanager
async def program(
    *arguments: str, stdout: int | None = None, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *arguments, env={**os.environ, **environment}, stdout=stdout, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await process.wait()


async def minted(key: Path, *arguments: str) -> dict[str, str]:
    """Return the header with a token of the example issuer."""
    minting = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLE, "--key", key, "token", *arguments, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await minting.communicate()
    return {"Authorization": f"Bearer {printed.decode().strip()}"}


async def until_ready(http: httpx.AsyncClient, state: Path) -> str:
    """Return the access token of the run when it is ready."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            try:
                if (await http.get("/health/ready")).status_code == 200 and (state / "run.json").exists():
                    return str(json.loads((state / "run.json").read_text())["token"])
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)


async def test_people_bring_tokens_of_the_example_issuer(tmp_path: Path) -> None:
    key, keys_port, port = tmp_path / "key.pem", free_port(), free_port()
    ann = await minted(key, "ann", "--tenant", "demo", "--project", "widget")
    keys_url = f"http://127.0.0.1:{keys_port}/jwks.json"
    auth: dict[str, Any] = {"AUTH_ISSUERS": str(issuers_file(tmp_path, "http://127.0.0.1:9100", jwks_url=keys_url))}
    judge = "/conversations/demo/widget/c-1/turns/t-1/feedback"
    async with (
        state_folder() as state,
        program(str(COMMAND), "up", "--port", str(port), "--state", str(state), **auth),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http,
    ):
        operator = {"Authorization": f"Bearer {await until_ready(http, state)}"}
        away = await http.get(judge, headers=ann)
        assert (away.status_code, away.headers["retry-after"]) == (503, "5"), "the issuer does not answer yet"
        assert "issuer" in away.json()["detail"]
        assert (await http.get("/metrics", headers=operator)).status_code == 200
        serve = (sys.executable, str(EXAMPLE), "--key", str(key), "serve", "--port", str(keys_port))
        async with program(*serve, stdout=asyncio.subprocess.PIPE) as serving:
            assert serving.stdout is not None
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert keys_url in (await serving.stdout.readline()).decode()
                while (own := await http.get(judge, headers=ann)).status_code == 503:
                    await asyncio.sleep(0.2)
            assert own.status_code == 200
            assert (
                await http.post("/conversations/demo/widget/c-1/turns-with-feedbacks", headers=ann, json={})
            ).status_code == 403
            assert (await http.get("/metrics", headers=ann)).status_code == 403
            chat = await minted(key, "chat", "--tenant", "demo", "--project", "widget", "--scope", "ingest")
            event = {
                "topic": "chat.message.ingested",
                "eventId": "e-1",
                "occurredAt": "2026-01-01T10:00:00Z",
                "messageId": "m-1",
                "conversationId": "c-1",
                "turnId": "t-1",
                "senderId": "bot",
                "senderType": "agent",
                "agentId": "bot",
                "content": "It opens at nine.",
            }
            headers = {**chat, "Content-Type": "application/x-ndjson"}
            taken = await http.post("/ingest/demo/widget/events", headers=headers, content=json.dumps(event))
            assert taken.json()["accepted"] == 1
            assert (await http.post(judge, headers=ann, json={"reaction": "ok"})).status_code == 202
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (await http.get(judge, headers=ann)).json()["reaction"] != "ok":
                    await asyncio.sleep(0.1)
            shown = await http.get("/conversations/demo/widget/feedback/summary", headers=operator)
            assert shown.json()["totals"]["ok"] == 1


# Headers of a gateway count only if they come from an address in FORWARDED_ALLOW_IPS.


async def signs_in(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    request.state.guard = Guard(AccessToken("session"))
    made = await sign_in(request, "session", "/")
    assert request.client is not None
    headers = {"set-cookie": made.headers["set-cookie"]}
    await PlainTextResponse(request.client.host, headers=headers)(scope, receive, send)


@pytest.mark.parametrize(
    ("trusted", "is_secure", "client"), [("10.0.0.1", False, "127.0.0.1"), ("127.0.0.1", True, "10.9.9.9")]
)
async def test_the_scheme_and_address_of_others_are_ignored(
    trusted: str, is_secure: bool, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)
    async with served(signs_in) as url, httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(url, headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.9.9.9"})
    assert ("secure" in answer.headers["set-cookie"].lower(), answer.text) == (is_secure, client)
