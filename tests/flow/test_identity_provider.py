"""Sign-in with an OpenID provider: roles by claims, hostile answers, logout, a changed group, a rotated key."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
import pytest_asyncio

from contracts.instants import DAY
from reporting.access.admission import Admission
from reporting.access.attempts import MOST_BY_ADDRESS
from reporting.access.identity_provider import read_identity_provider
from reporting.access.log import AccessLog
from servicekit.clock import SystemClock
from servicekit.errors import RequestRefused, StartError
from servicekit.web.auth import AnyOf, AnyOfLater
from tests.support.databases import empty_schema
from tests.support.openid_provider import SECRET, OpenIdProvider, openid_provider, parameters
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack

HERE = "http://localhost:9"
START, ANSWER = "/sign-in/provider", "/sign-in/provider/answer"
COOKIE = "agent_feedback_token"
PENDING = "agent_feedback_sign_in"
REVIEW = "/conversations/acme/{project}/c1/turns/t1/reviews"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[OpenIdProvider]:
    async with openid_provider() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(
    provider: OpenIdProvider, postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RunningStack]:
    file = provider.file(tmp_path_factory.mktemp("provider"), HERE, "session_hours = 12")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("REPORTING_IDENTITY_PROVIDER", str(file))
        environment.setenv("OIDC_CLIENT_SECRET", SECRET)
        async with running_stack(postgres_url) as running:
            for project in ("support", "sales", "secret"):
                await running.publish(*(event | {"project": project} for event in exchange("c1", "t1")))
            await running.quiet()
            yield running


@pytest.fixture(autouse=True)
def _sound(provider: OpenIdProvider) -> Iterator[None]:
    """Let the provider behave again after each test."""
    yield
    fresh = OpenIdProvider()
    for name in ("wrong", "document", "down", "algorithm", "key", "token"):
        setattr(provider, name, getattr(fresh, name))


@asynccontextmanager
async def browser(stack: RunningStack, address: str = "127.0.0.1", **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    authenticator = AnyOf(Tokens(), AnyOfLater(lambda: stack.stack.authenticators))
    transport = httpx.ASGITransport(stack.app(authenticator, seconds=60), client=(address, 9))
    async with httpx.AsyncClient(transport=transport, base_url=HERE, **options) as http:
        yield http


async def returned(http: httpx.AsyncClient, target: str = "/", **changes: str | None) -> httpx.Response:
    """Sign in at the provider and follow its redirection, with changed parameters of the answer."""
    begun = await http.get(START, params={"next": target})
    assert begun.status_code == 303, begun.text
    async with httpx.AsyncClient() as outside:
        said = parameters((await outside.get(begun.headers["location"])).headers["location"])
    return await http.get(ANSWER, params={name: one for name, one in (said | changes).items() if one is not None})


def opened(answer: httpx.Response) -> str:
    """Return the path that the page after a sign-in opens."""
    assert answer.status_code == 200, answer.text
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', answer.text)
    assert found, answer.text
    return unescape(found[1])


def forget_remembered_sessions(stack: RunningStack) -> None:
    """Drop the sessions that the service remembers for two seconds."""
    sessions: Any = stack.stack.services["reporting"].authenticators[0]
    sessions.forget()


async def test_a_person_signs_in_and_has_the_role_and_projects_of_the_group(
    stack: RunningStack, provider: OpenIdProvider
) -> None:
    provider.signs_in("rita-1", "everybody-else", "/support leads", "everybody", email="Rita.O'Hara@Example.org")
    async with browser(stack) as http:
        front = await http.get("/dashboard/feedback?at=acme/support&origin=user", headers={"Accept": "text/html"})
        assert front.status_code == 401 and "Sign in with Acme &amp; Co" in front.text
        [link] = re.findall(r'href="(/sign-in/provider\?[^"]*)"', front.text)
        begun = await http.get(unescape(link))
        assert begun.headers["location"].startswith(f"{provider.url}/authorize?prompt=none&")
        asked = parameters(begun.headers["location"])
        cookie = begun.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=lax" in cookie and "max-age=600" in cookie
        assert asked["state"] not in begun.headers["set-cookie"] and len(asked["nonce"]) >= 43
        answer = await returned(http, "/dashboard/feedback?at=acme/support&origin=user")
        assert opened(answer) == "/dashboard/feedback?at=acme/support&origin=user"
        cookies = {one.partition("=")[0]: one.lower() for one in answer.headers.get_list("set-cookie")}
        assert "samesite=strict" in cookies[COOKIE] and "max-age=0" in cookies[PENDING]
        own = (await http.get("/access/caller")).json()
        assert own == {
            "subject": "account:rita.o-hara@example.org", "tenant": "acme", "projects": ["sales", "support"],
            "scopes": ["read", "review"], "is_person": False,
        }  # fmt: skip
        for project, status in (("support", 202), ("secret", 403)):
            done = await http.post(REVIEW.format(project=project), json={"reaction": "ok"})
            assert done.status_code == status, done.text
        page = (await http.get("/dashboard/access")).text
        assert "Change the password" not in page and "Add a colleague" not in page
        for path, form in (("/dashboard/access/accounts", {"name": "bo"}), ("/dashboard/access/keys", {"name": "k"})):
            assert (await http.post(path, data=form)).status_code == 403
    await stack.quiet()
    [row] = await stack.rows("select user_id from reporting.feedbacks where origin = 'reviewer'")
    assert row["user_id"] == "account:rita.o-hara@example.org"
    logged = await stack.rows("select actor, tenant, about from reporting.access_log where actor like 'account:rita%'")
    assert [tuple(one.values()) for one in logged] == [
        (
            "account:rita.o-hara@example.org",
            "acme",
            "account rita.o-hara@example.org: reviewer by the identity provider",
        )
    ]


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example/", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)",
               "", "/" + "x" * 5_000, '/"><script>'],
)  # fmt: skip
async def test_the_page_after_a_sign_in_is_of_this_server(
    stack: RunningStack, provider: OpenIdProvider, target: str
) -> None:
    provider.signs_in("tom-1", "everybody")
    async with browser(stack) as http:
        answer = await returned(http, target)
        assert opened(answer) == ('/"><script>' if target.startswith('/"') else "/")
        assert "<script>" not in answer.text


async def test_answers_that_do_not_belong_to_the_sign_in_are_refused(
    stack: RunningStack, provider: OpenIdProvider
) -> None:
    provider.signs_in("mallory", "everybody")
    for changes, status in (
        ({"state": "x" * 43}, 400), ({"state": None}, 400), ({"state": "é"}, 400),
        ({"iss": "https://other.example"}, 400), ({"iss": None}, 400),
        ({"code": None}, 403), ({"code": "guessed"}, 403), ({"error": "access_denied"}, 403),
    ):  # fmt: skip
        async with browser(stack) as http:
            refused = await returned(http, **changes)
            assert refused.status_code == status, (changes, refused.text)
            assert COOKIE not in http.cookies and PENDING not in http.cookies
            assert "guessed" not in refused.text and "<b>no</b>" not in refused.text
    assert not await stack.rows("select 1 from reporting.accounts where name like 'mallory%'")


async def test_an_answer_works_once_and_in_its_own_browser_only(stack: RunningStack, provider: OpenIdProvider) -> None:
    provider.signs_in("una-1", "everybody")
    async with browser(stack) as http, browser(stack) as other:
        begun = await http.get(START)
        pending = http.cookies[PENDING]
        async with httpx.AsyncClient() as outside:
            said = parameters((await outside.get(begun.headers["location"])).headers["location"])
        assert (await other.get(ANSWER, params=said)).status_code == 400
        await other.get(START)  # a sign-in of its own
        assert (await other.get(ANSWER, params=said)).status_code == 400
        assert (await http.get(ANSWER, params=said)).status_code == 200
        assert (await http.get(ANSWER, params=said)).status_code == 400  # the cookie is gone
        replayed = await other.get(ANSWER, params=said, headers={"Cookie": f"{PENDING}={pending}"})
        assert replayed.status_code == 403 and "used before" in replayed.text
        for damaged in ("", "%%%", pending[:-5], "W10=", "e30="):
            answer = await other.get(ANSWER, params=said, headers={"Cookie": f"{PENDING}={damaged}"})
            assert answer.status_code == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": "another"}, {"nonce": None}, {"nonce": 5}, {"nonce": "\udcff"},
        {"iss": "https://other.example"}, {"iss": None}, {"aud": "another"}, {"aud": None},
        {"aud": ["agent-feedback", "another"]}, {"azp": "another"}, {"exp": 1_000}, {"exp": None},
        {"iat": 4_000_000_000}, {"sub": None}, {"sub": ""}, {"sub": 5}, {"sub": "x" * 300},
        {"email": None}, {"email": 5}, {"email": ""}, {"email_verified": False}, {"email_verified": "true"},
        {"email_verified": None}, {"groups": None}, {"groups": []}, {"groups": "every"}, {"groups": {"everybody": 1}},
        {"groups": [["everybody"], 5, None]},
    ],
    ids=str,
)  # fmt: skip
async def test_tokens_that_do_not_fit_admit_nobody(
    stack: RunningStack, provider: OpenIdProvider, wrong: dict[str, Any]
) -> None:
    provider.signs_in("vic", "everybody")
    provider.wrong = wrong
    async with browser(stack) as http:
        refused = await returned(http)
        assert refused.status_code == 403, refused.text
        assert COOKIE not in http.cookies
        assert "Sign in again" in refused.text
    assert not await stack.rows("select 1 from reporting.accounts where name like 'vic%'")


async def test_signatures_of_other_keys_and_without_a_key_are_refused(
    stack: RunningStack, provider: OpenIdProvider
) -> None:
    provider.signs_in("wim", "everybody")
    unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ3aW0ifQ."
    for token in (unsigned, unsigned + "x", "no token", "a.b.c", "x" * 20_000):
        provider.token = token
        async with browser(stack) as http:
            assert (await returned(http)).status_code == 403, token[:40]
    assert not await stack.rows("select 1 from reporting.accounts where name like 'wim%'")


async def test_a_changed_group_counts_at_the_next_sign_in(stack: RunningStack, provider: OpenIdProvider) -> None:
    provider.signs_in("zoe-1", "feedback-admins", email="zoe@example.org")
    async with browser(stack) as http, browser(stack) as other:
        opened(await returned(http))
        assert (await http.get("/access/caller")).json()["projects"] is None
        added = await http.post("/dashboard/access/accounts", data={"name": "yan", "role": "reader", "place": "acme/x"})
        assert added.status_code == 200, added.text
        provider.signs_in("zoe-1", "everybody", email="zoe.new@example.org")
        assert "admin" in (await http.get("/access/caller")).json()["scopes"]
        opened(await returned(other))
        for one in (http, other):
            own = (await one.get("/access/caller")).json()
            assert (own["subject"], own["scopes"], own["projects"]) == (
                "account:zoe@example.org",
                ["read"],
                ["support"],
            )
        provider.signs_in("zoe-1", "left the company")
        assert (await returned(other)).status_code == 403
        forget_remembered_sessions(stack)
        assert (await http.get("/access/caller")).status_code == 401


async def test_a_refused_sign_in_ends_the_persons_sessions(stack: RunningStack, provider: OpenIdProvider) -> None:
    provider.signs_in("kim-1", "everybody", email="kim@example.org")
    async with browser(stack) as http, browser(stack) as other:
        opened(await returned(http))
        provider.signs_in("kim-1", "everybody", email="")
        assert (await returned(other)).status_code == 403
        forget_remembered_sessions(stack)
        assert (await http.get("/access/caller")).status_code == 401


async def test_names_are_not_taken_over(stack: RunningStack, provider: OpenIdProvider) -> None:
    async with browser(stack, headers={"Authorization": "Bearer all"}) as admin:
        form = {"name": "boss@example.org", "role": "admin", "place": "acme/*"}
        assert (await admin.post("/dashboard/access/accounts", data=form)).status_code == 200
        provider.signs_in("eve-1", "everybody", email="boss@example.org")
        async with browser(stack) as http:
            refused = await returned(http)
            assert refused.status_code == 403 and "another sign-in" in refused.text
        provider.signs_in("pat-1", "everybody", email="pat@example.org")
        async with browser(stack) as http:
            opened(await returned(http))
        provider.signs_in("pat-2", "everybody", email="pat@example.org")  # the address was given to another person
        async with browser(stack) as http:
            assert (await returned(http)).status_code == 403
        for action in ("link", "change"):
            form = {action: "pat@example.org", "role": "admin", "place": "acme/*"}
            assert (await admin.post("/dashboard/access/accounts", data=form)).status_code == 409, action
        page = (await admin.get("/dashboard/access")).text
        assert "New link for boss" in page and "New link for pat" not in page and "Disable pat" in page
        signed = await admin.post("/sign-in/password", data={"name": "pat@example.org", "password": ""})
        assert signed.status_code == 422
        disabled = await admin.post("/dashboard/access/accounts", data={"disable": "pat@example.org"})
        assert disabled.status_code == 200
        provider.signs_in("pat-1", "everybody", email="pat@example.org")
        async with browser(stack) as http:
            refused = await returned(http)
            assert refused.status_code == 403 and "disabled" in refused.text


async def test_a_session_ends_after_its_hours_and_by_sign_out(stack: RunningStack, provider: OpenIdProvider) -> None:
    provider.signs_in("xia-1", "everybody")
    async with browser(stack) as http:
        opened(await returned(http))
        [row] = await stack.rows(
            "select expires_at - created_at as lasts from reporting.account_sessions where name like 'xia%'"
        )
        assert row["lasts"] == DAY // 2
        await stack.rows("update reporting.account_sessions set expires_at = 1 where name like 'xia%'")
        forget_remembered_sessions(stack)
        assert (await http.get("/access/caller")).status_code == 401
        opened(await returned(http))
        out = await http.post("/sign-out")
        assert out.status_code == 200 and COOKIE not in http.cookies
        [link] = re.findall(r'href="(http[^"]*)"', out.text)
        assert unescape(link).startswith(f"{provider.url}/logout?")
        assert parameters(unescape(link)) == {"client_id": "agent-feedback", "post_logout_redirect_uri": f"{HERE}/"}
        assert (await http.get("/access/caller")).status_code == 401


async def test_a_provider_that_is_down_gives_a_page(stack: RunningStack, provider: OpenIdProvider) -> None:
    provider.signs_in("yves", "everybody")
    provider.down.add("/token")
    async with browser(stack) as http:
        down = await returned(http, "/dashboard/feedback")
        assert down.status_code == 503 and down.headers["Retry-After"]
        assert "Acme &amp; Co does not answer" in down.text and "next=/dashboard/feedback" in down.text
        assert down.headers["Content-Type"].startswith("text/html")
        provider.down.clear()
        opened(await returned(http))


@pytest.mark.parametrize(("number", "down", "status"), [(2, set(), 403), (3, {"/token"}, 503)])
async def test_failed_answers_are_limited_by_address(
    stack: RunningStack, provider: OpenIdProvider, number: int, down: set[str], status: int
) -> None:
    provider.signs_in("walt", "everybody")
    async with browser(stack, f"10.2.2.{number}") as http, browser(stack, f"10.3.3.{number}") as neighbour:
        begun = await http.get(START)
        cookie = begun.headers["set-cookie"].partition(";")[0]
        state = parameters(begun.headers["location"])["state"]
        answer = {"state": state, "iss": provider.url, "code": "made-up"}

        async def answered() -> httpx.Response:
            return await http.get(ANSWER, params=answer, headers={"Cookie": cookie})

        opened(await returned(http))
        provider.down |= down
        assert [(await answered()).status_code for _ in range(MOST_BY_ADDRESS)] == [status] * MOST_BY_ADDRESS
        asked = len(provider.asked)
        refused = await answered()
        assert (refused.status_code, int(refused.headers["Retry-After"]) > 0) == (429, True)
        assert "Wait 15 minutes" in refused.text
        assert len(provider.asked) == asked, "the provider is not asked"
        provider.down.clear()
        assert (await returned(http)).status_code == 429
        form = {"name": "nobody", "password": "a wrong password"}
        assert (await http.post("/sign-in/password", data=form)).status_code == 422, "passwords are not blocked"
        opened(await returned(neighbour))


async def test_an_admission_and_its_log_entries_are_one_transaction(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OIDC_CLIENT_SECRET", SECRET)
    groups = "".join(
        f'[[group]]\nvalue = "{tenant}"\nrole = "reader"\nprojects = ["{tenant}/*"]\n' for tenant in ("acme", "globex")
    )
    file = OpenIdProvider(url="https://id.example").file(tmp_path, "https://feedback.example", groups=groups)
    provider = read_identity_provider(file)
    assert provider is not None
    async with empty_schema(postgres_url, "reporting") as pool:
        admission = Admission(pool, SystemClock(), provider, AccessLog(pool, SystemClock()))
        claims = {"sub": "ann-1", "email": "ann@example.org", "email_verified": True}
        await pool.execute("alter table access_log rename to elsewhere")
        with pytest.raises(asyncpg.UndefinedTableError):
            await admission.admit({**claims, "groups": ["acme"]})
        for table in ("accounts", "account_sessions"):
            assert await pool.fetchval(f"select count(*) from {table}") == 0, table
        await pool.execute("alter table elsewhere rename to access_log")
        for group in ("acme", "acme", "globex"):
            await admission.admit({**claims, "groups": [group]})
        rows = await pool.fetch("select tenant from access_log order by tenant")
        assert [row["tenant"] for row in rows] == ["acme", "acme", "globex"], "a move is logged for both tenants"


async def test_a_refusal_ends_the_sessions_of_its_own_issuers_subject_only(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issuers choose their subjects, so two of them may name two people alike: after a change of the provider."""
    monkeypatch.setenv("OIDC_CLIENT_SECRET", SECRET)
    async with empty_schema(postgres_url, "reporting") as pool:

        def admission(issuer: str) -> Admission:
            provider = read_identity_provider(OpenIdProvider(url=issuer).file(tmp_path, "https://feedback.example"))
            assert provider is not None
            return Admission(pool, SystemClock(), provider, AccessLog(pool, SystemClock()))

        before, now = admission("https://before.example"), admission("https://now.example")
        claims = {"sub": "1", "email_verified": True, "groups": ["everybody"]}
        await before.admit({**claims, "email": "ann@example.org"})
        await now.admit({**claims, "email": "bob@example.org"})
        left = []
        for refusing in (now, before):
            with pytest.raises(RequestRefused):
                await refusing.admit({**claims, "groups": []})
            left.append([row["name"] for row in await pool.fetch("select name from account_sessions")])
        assert left == [["ann@example.org"], []]


async def test_without_a_provider_its_addresses_say_so(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPORTING_IDENTITY_PROVIDER", raising=False)
    async with running_stack(postgres_url) as bare, browser(bare) as http:
        for path in (START, ANSWER):
            assert (await http.get(path)).status_code == 404
        front = await http.get("/", headers={"Accept": "text/html"})
        assert front.status_code == 401 and START not in front.text


async def test_a_service_does_not_start_with_an_invalid_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    valid = OpenIdProvider(url="https://id.example")
    monkeypatch.setenv("OIDC_CLIENT_SECRET", SECRET)
    read = read_identity_provider(valid.file(tmp_path, "https://feedback.example/"))
    assert read is not None and read.address == "https://feedback.example" and "of the client" not in repr(read)
    for more, groups, why in (
        ("", "", "group"),
        ("", '[[group]]\nvalue = "a"\nrole = "boss"\nprojects = ["a/b"]', "role"),
        ("", '[[group]]\nvalue = "a"\nrole = "admin"\nprojects = ["a"]', "tenant/project"),
        ("", '[[group]]\nvalue = "a"\nrole = "admin"\nprojects = ["a/b", "c/d"]', "tenant"),
        ("", 2 * '[[group]]\nvalue = "a"\nrole = "admin"\nprojects = ["a/b"]\n', "same value"),
        ('scopes = ["email"]', '[[group]]\nvalue = "a"\nrole = "admin"\nprojects = ["a/b"]', "openid"),
        ("session_hours = 0", '[[group]]\nvalue = "a"\nrole = "admin"\nprojects = ["a/b"]', "session_hours"),
    ):
        with pytest.raises(StartError, match=why):
            read_identity_provider(valid.file(tmp_path, "https://feedback.example", more, groups))
    for url, address in (
        ("http://id.example", "https://f.example"),
        ("https://id.example", "http://f.example"),
        ("https://id.example?x", "https://f.example"),
        ("https://id.example", "https://f.example/a"),
    ):
        with pytest.raises(StartError):
            read_identity_provider(OpenIdProvider(url=url).file(tmp_path, address))
    monkeypatch.delenv("OIDC_CLIENT_SECRET")
    with pytest.raises(StartError, match="OIDC_CLIENT_SECRET"):
        read_identity_provider(valid.file(tmp_path, "https://feedback.example"))
