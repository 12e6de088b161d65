"""Access to every route of every service with every kind of token, compared with a hand-written table."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contracts.ids import feedback_id
from contracts.scopes import ALL_SCOPES
from servicekit.web.application import add_routes, guarded
from servicekit.web.paths import Segment
from servicekit.web.routes import GuardedRoute, Routes
from standalone.programs import PROGRAMS
from tests.support.issuer import Issuer, accepting, issuer
from tests.support.running_stack import RunningStack, Tokens, exchange
from tests.support.served import served

PUBLIC, ANY, NOBODY = frozenset({"public"}), frozenset({"any"}), frozenset[str]()


PROJECT = "/conversations/{tenant}/{project}"


TURN = PROJECT + "/{conversation_id}/turns/{turn_id}"


EXPECTED: dict[tuple[str, str], frozenset[str]] = {
    ("GET", "/health/live"): PUBLIC,
    ("GET", "/health/ready"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("GET", "/asyncapi.json"): PUBLIC,
    ("GET", "/metrics"): NOBODY,  # of all tenants: for a token without a tenant
    ("GET", "/widget"): PUBLIC,
    ("GET", "/widget.js"): PUBLIC,
    ("GET", "/widget-demo.js"): PUBLIC,
    ("GET", "/widget-demo.css"): PUBLIC,
    ("GET", "/"): frozenset({"read"}),
    ("GET", "/dashboard/conversation"): frozenset({"read"}),
    ("GET", "/dashboard/assets/{name}"): frozenset({"read"}),
    ("POST", "/ingest/{tenant}/{project}/events"): frozenset({"ingest"}),
    ("GET", PROJECT + "/refused"): frozenset({"ingest"}),
    ("POST", "/sources/slack/events"): PUBLIC,  # signed by Slack
    ("POST", "/sources/webhooks/{source}"): PUBLIC,  # signed as the map defines
    ("POST", TURN + "/feedback"): ANY,
    ("POST", TURN + "/reviews"): frozenset({"review"}),
    ("POST", "/api/threads/{thread_id}/end"): ANY,
    ("GET", "/api/memory/status"): ANY,
    ("GET", TURN + "/feedback"): ANY,
    ("GET", TURN + "/metadata"): frozenset({"detect"}),
    ("POST", PROJECT + "/{conversation_id}/detect"): frozenset({"detect"}),
    ("POST", PROJECT + "/strategies/search"): frozenset({"detect"}),
    ("POST", PROJECT + "/{conversation_id}/feedback/latest"): frozenset({"read", "detect"}),
    ("POST", PROJECT + "/{conversation_id}/turns-with-feedbacks"): frozenset({"read"}),
    ("POST", PROJECT + "/feedback/conversations-in-period"): frozenset({"read"}),
    ("POST", PROJECT + "/feedback/search"): frozenset({"read"}),
    ("POST", PROJECT + "/feedback/artifacts"): frozenset({"read"}),
    ("GET", PROJECT + "/feedback/summary"): frozenset({"read"}),
    ("GET", PROJECT + "/feedback/agents"): frozenset({"read"}),
    ("GET", PROJECT + "/feedback/compare"): frozenset({"read"}),
    ("GET", PROJECT + "/feedback/calibration"): frozenset({"read"}),
    ("GET", PROJECT + "/exports/{wanted}"): frozenset({"export"}),
    ("GET", PROJECT + "/exports/{wanted}/counts"): frozenset({"export"}),
    ("DELETE", "/tenants/{tenant}/users/{user_id}"): frozenset({"admin"}),
    ("PUT", "/tenants/{tenant}/users/{user_id}/training"): frozenset({"admin"}),
    ("GET", "/tenants/{tenant}/erasures/{request_id}"): frozenset({"admin"}),
    ("GET", "/tenants/{tenant}/webhooks"): frozenset({"admin"}),
    ("POST", "/tenants/{tenant}/webhooks/{endpoint}/replay"): frozenset({"admin"}),
    ("GET", PROJECT + "/feedback/reasons"): frozenset({"read"}),
    ("GET", "/dashboard/feedback"): frozenset({"read"}),
    ("GET", "/dashboard/feedback.csv"): frozenset({"export"}),
    ("GET", "/dashboard/compare"): frozenset({"read"}),
    ("GET", "/dashboard/sessions"): frozenset({"read"}),
    ("GET", "/dashboard/accuracy"): frozenset({"read"}),
    ("GET", "/dashboard/review"): frozenset({"read"}),
    ("GET", PROJECT + "/audit"): frozenset({"read"}),
    ("POST", "/dashboard/accuracy"): frozenset({"review"}),
    ("POST", "/dashboard/issue"): frozenset({"review"}),
    ("GET", "/dashboard/alerts"): frozenset({"read"}),
    ("POST", "/dashboard/alerts"): frozenset({"operate", "admin"}),
    ("GET", PROJECT + "/alerts"): frozenset({"read"}),
    ("GET", "/dashboard/issues"): frozenset({"read"}),
    ("GET", "/dashboard/issue"): frozenset({"read"}),
    ("GET", PROJECT + "/issues"): frozenset({"read"}),
    ("GET", PROJECT + "/issues/{issue}"): frozenset({"read"}),
    ("POST", PROJECT + "/issues/{issue}/change"): frozenset({"review"}),
    ("POST", PROJECT + "/issues/{issue}/merge"): frozenset({"review"}),
    ("POST", "/conversations/{tenant}/sessions"): frozenset({"read"}),
    ("POST", "/sign-in"): PUBLIC,
    ("POST", "/sign-out"): ANY,
    ("GET", "/access/caller"): ANY,
    ("GET", "/dashboard/erase"): frozenset({"admin"}),
    ("GET", "/dashboard/access"): frozenset({"read"}),
    ("POST", "/dashboard/access/keys"): frozenset({"admin"}),
}
"""Scopes that open a route, one of which is enough. A new route gets its row here and in its service."""


PLACES = {
    "{tenant}": "acme",
    "{project}": "support",
    "{conversation_id}": "c-permissions",
    "{turn_id}": "t1",
    "{thread_id}": "c-permissions",
    "{name}": "dashboard.css",
    "{user_id}": "bob",
    "{request_id}": "r1",
    "{wanted}": "kto",
    "{source}": "zendesk",
    "{endpoint}": "learner",
    "{issue}": "00000000-0000-4000-8000-000000000000",
    "{feedback_id}": "00000000-0000-4000-8000-000000000000",
}


@dataclass(frozen=True)
class Kind:
    """Kind of token: the claims that differ from a valid one, and the expected status of a rejection."""

    name: str
    claims: dict[str, Any] | None
    scopes: frozenset[str] = frozenset()
    valid: bool = True
    here: bool = True

    def expected(self, needed: frozenset[str], path: str) -> set[int] | None:
        """Return the expected statuses of a rejection, or None if the token is accepted."""
        if needed == PUBLIC:
            return None
        if not self.valid:
            return {401}
        if not (needed == ANY or needed & self.scopes) or ("{tenant}" in path and not self._reaches(path)):
            return {403}
        return None

    def _reaches(self, path: str) -> bool:
        """Return True if the token covers the place; a tenant-wide route requires a token for all its projects."""
        return self.here and ("{project}" in path or (self.claims or {}).get("project") == "*")


EVERYTHING = " ".join(sorted(ALL_SCOPES))


KINDS = [
    Kind("no token", None, valid=False),
    Kind("expired", {"exp": 1, "scope": EVERYTHING}, valid=False),
    Kind("wrong audience", {"aud": "another", "scope": EVERYTHING}, valid=False),
    Kind("wrong issuer", {"iss": "https://evil.example", "scope": EVERYTHING}, valid=False),
    Kind("no scope", {"scope": None}),
    Kind("no scope, all projects", {"scope": None, "project": "*"}),
    *(Kind(f"scope {scope}", {"scope": scope}, frozenset({scope})) for scope in sorted(ALL_SCOPES)),
    *(
        Kind(f"scope {scope}, all projects", {"scope": scope, "project": "*"}, frozenset({scope}))
        for scope in sorted(ALL_SCOPES)
    ),
    Kind("other project", {"project": "sales", "scope": EVERYTHING}, ALL_SCOPES, here=False),
    Kind("other tenant", {"tenant": "globex", "scope": EVERYTHING}, ALL_SCOPES, here=False),
    Kind(
        "other tenant, all projects", {"tenant": "globex", "project": "*", "scope": EVERYTHING}, ALL_SCOPES, here=False
    ),
    Kind("every scope", {"scope": EVERYTHING}, ALL_SCOPES),
    Kind("every scope, all projects", {"project": "*", "scope": EVERYTHING}, ALL_SCOPES),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def source() -> AsyncIterator[Issuer]:
    async with issuer() as running:
        running.add("rsa")
        yield running


def routes_of(app: FastAPI) -> Iterator[tuple[str, str, Any]]:
    """Yield every route of the application as (method, template, route)."""
    for route in iter_route_contexts(app.routes):
        assert route.path_format is not None and route.methods, f"{route.path} is no plain route"
        for method in route.methods - {"HEAD"}:
            yield method, route.path_format, route


def test_every_route_has_its_row(stack: RunningStack) -> None:
    assert {(method, template) for method, template, _ in routes_of(stack.plain_app())} == set(EXPECTED)


def test_the_described_routes_of_a_service_are_those_that_run(stack: RunningStack) -> None:
    for program in PROGRAMS:
        routers = stack.stack.services[program.name].routers
        running = [route for router in routers for route in router.routes if isinstance(route, GuardedRoute)]
        described = [(route.method, route.path, route.need) for route in program.routes]
        assert sorted(map(str, described)) == sorted(str((r.method, r.path, r.need)) for r in running), program.name


def test_every_id_in_a_path_is_one_segment(stack: RunningStack) -> None:
    for method, template, route in routes_of(stack.plain_app()):
        plain = {
            name
            for name, convertor in route.param_convertors.items()
            if name not in ("tenant", "project") and not isinstance(convertor, Segment)
        }
        assert not plain, f"{method} {template}: write {{{'}, {'.join(f'{name}:segment' for name in plain)}}}"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_every_route_with_every_kind_of_token(stack: RunningStack, source: Issuer, kind: Kind) -> None:
    await stack.publish(*exchange("c-permissions", "t1"))
    authenticator = accepting(source)
    transport = httpx.ASGITransport(stack.app(authenticator, seconds=60), raise_app_exceptions=False)
    headers = {"Origin": "http://stack"}
    if kind.claims is not None:
        headers["Authorization"] = f"Bearer {source.token('rsa', **kind.claims)}"
    async with httpx.AsyncClient(transport=transport, base_url="http://stack", headers=headers) as http:
        for (method, path), needed in EXPECTED.items():
            address = path
            for place, value in PLACES.items():
                address = address.replace(place, value)
            assert "{" not in address, "PLACES lacks a value"
            answer = await http.request(method, address, json={} if method == "POST" else None)
            refused = kind.expected(needed, path)
            said = (kind.name, method, path, answer.status_code)
            assert answer.status_code in refused if refused else answer.status_code not in (401, 403), said


async def test_a_route_that_declares_no_access_is_refused_and_does_not_start(stack: RunningStack) -> None:
    app = stack.plain_app()

    @app.get("/forgotten")
    async def forgotten() -> str:
        return "everybody's words"

    transport = httpx.ASGITransport(guarded(app, Tokens()))
    async with httpx.AsyncClient(transport=transport, base_url="http://stack") as http:
        assert (await http.get("/forgotten")).status_code == 401
        assert (await http.get("/forgotten", headers={"Authorization": "Bearer all"})).status_code == 403
        unknown = await http.get("/unknown")
        assert (unknown.status_code, unknown.json()) == (404, {"detail": "Not Found"})
        wrong = await http.delete("/health/live", headers={"Authorization": "Bearer all"})
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")
    with pytest.raises(ValueError, match="declares no access"):
        add_routes(app, [])


def test_a_route_that_is_declared_twice_does_not_start(stack: RunningStack) -> None:
    routes = Routes("tests", token=False)
    for access in ("no token", "read"):
        routes.at("GET", "/twice", access)(lambda: None)
    with pytest.raises(ValueError, match="declared twice"):
        add_routes(stack.plain_app(), [routes])


# Ids in paths over a real socket: a request reaches exactly the object that it names, with any characters in the
# id.

PIECES = st.sampled_from(
    ["a", "b", "/turns/", "/", "%2F", "%252F", "%", "..", ".", ";", ";x=1", " ", "?", "#", "+", "\\", "é", "日本", "👍"]
)


IDS = st.lists(PIECES, min_size=1, max_size=5).map("".join).filter(lambda text: text.strip() == text)


async def ask(port: int, method: str, path: str, token: str, body: bytes = b"") -> tuple[int, dict[str, str]]:
    """Return the response to a request whose path is sent unchanged; no client resolves its dots."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    writer.write("\r\n".join(head).encode("ascii") + b"\r\n\r\n" + body)
    answer = await reader.read()
    writer.close()
    lines, _, content = answer.partition(b"\r\n\r\n")
    return int(lines.split()[1]), json.loads(content)


def path_of(conversation: str, turn: str) -> str:
    return f"/conversations/acme/support/{quote(conversation, safe='')}/turns/{quote(turn, safe='')}/feedback"


@pytest.fixture(scope="module")
async def port(stack: RunningStack) -> AsyncIterator[int]:
    async with served(stack.app()) as url:
        yield int(url.rpartition(":")[2])


async def test_a_judgement_lands_on_the_turn_it_names(stack: RunningStack, port: int) -> None:
    """Turn `x/turns/y` of conversation `sc` differs from turn `y` of conversation `sc/turns/x`."""
    await stack.publish(
        *exchange("sc", "x/turns/y", agent="left"),
        *exchange("sc/turns/x", "y", agent="right"),
    )
    body = b'{"reaction": "not_ok"}'
    assert (await ask(port, "POST", path_of("sc/turns/x", "y"), "ann", body))[0] == 202
    await stack.quiet()
    assert (await ask(port, "GET", path_of("sc/turns/x", "y"), "ann"))[1]["reaction"] == "not_ok"
    assert (await ask(port, "GET", path_of("sc", "x/turns/y"), "ann"))[1]["reaction"] is None
    assert (await ask(port, "GET", "/conversations/acme/support/sc/turns/x/turns/y/feedback", "ann"))[0] == 404


async def test_every_id_reaches_its_own_turn(stack: RunningStack, port: int) -> None:
    pairs: set[tuple[str, str]] = set()

    @settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(IDS, IDS)
    @example("..", ".")
    @example("sc", "x/turns/y")
    @example("sc/turns/x", "y")
    @example("a%2Fturns%2Fb", "c")
    def collect(conversation: str, turn: str) -> None:
        pairs.add((conversation, turn))

    collect()
    ordered = sorted(pairs)
    await stack.publish(*(event for pair in ordered for event in exchange(*pair, project="ids")))
    for number, (conversation, turn) in enumerate(ordered):
        person = f"person-{number}"
        path = path_of(conversation, turn).replace("/support/", "/ids/")
        status, answer = await ask(
            port, "POST", path, "all", json.dumps({"reaction": "ok", "user_id": person}).encode()
        )
        expected = feedback_id("acme", "ids", conversation, source="api", user_id=person, agent_id="", source_id=turn)
        assert (status, answer.get("feedback_id")) == (202, str(expected)), (conversation, turn, answer)
