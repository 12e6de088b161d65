"""Recorded responses of every route of every service over the sample: a guard for changes of the services' structure.

`RECORD=1 pytest tests/flow/test_route_answers.py` writes route_answers.txt again. Each route has one line: its
permission, and its status without a token, with a token of another tenant, for an invalid path, for an invalid body or
query, for a body of another media type, and for a valid request. The line below has the media type of the valid
response and the names of its fields. Types of fields are compared with the OpenAPI document in test_openapi.py.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from contracts.scopes import ALL_SCOPES
from servicekit.web.auth import Caller
from servicekit.web.permissions import Need
from servicekit.web.routes import GuardedRoute
from standalone.sample import PROJECT, TENANT, write_sample
from tests.support.running_stack import running_stack
from tests.support.waits import PATIENCE_SECONDS

RECORDED = Path(__file__).parent / "route_answers.txt"
HEADINGS = "needs", "no token", "foreign", "path", "query or body", "media type", "valid"
NOW = 1_767_225_600_000_000
"""1 January 2026, microseconds."""
CONVERSATION = "wifi-drops"
PLACE = "/conversations/{tenant}/{project}"
TURN = PLACE + "/{conversation_id}/turns/{turn_id}"
WINDOW = {"start": "2025-12-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}
WEBHOOKS = """[[endpoint]]
name = "learner"
url = "http://127.0.0.1:9/"
tenant = "demo"
secrets = ["HOOK_SECRET"]
private = true
"""


@dataclass(frozen=True)
class Valid:
    """Valid request to a route: its query or its body. `raw` is the body of a route that does not accept JSON."""

    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    raw: tuple[str, str] | None = None
    """Media type and content."""


VALID: dict[tuple[str, str], Valid] = {
    ("GET", "/dashboard/conversation"): Valid({"at": f"{TENANT}/{PROJECT}", "id": CONVERSATION}),
    ("GET", "/dashboard/agent"): Valid({"at": f"{TENANT}/{PROJECT}", "agent": "home-support", "period": "all"}),
    ("POST", "/sign-in"): Valid(raw=("application/x-www-form-urlencoded", "token=all")),
    ("POST", "/ingest/{tenant}/{project}/events"): Valid(raw=("application/x-ndjson", "{}\n")),
    ("POST", TURN + "/feedback"): Valid(body={"reaction": "not_ok", "tags": ["wrong"], "ts": "2026-01-01T00:00:00Z"}),
    ("POST", TURN + "/reviews"): Valid(body={"reaction": "ok"}),
    ("POST", "/api/threads/{thread_id}/end"): Valid(
        body={"feedback": "positive", "tenant": TENANT, "project": PROJECT, "user_id": "carlos"}
    ),
    ("GET", "/api/memory/status"): Valid({"thread_id": CONVERSATION, "tenant": TENANT}),
    ("POST", PLACE + "/feedback/conversations-in-period"): Valid(body=WINDOW | {"include_turns": True}),
    ("POST", PLACE + "/feedback/search"): Valid(body={}),
    ("POST", PLACE + "/feedback/artifacts"): Valid(
        body={"kinds": ["turn.log.reaction"], "scope": "conversation", "conversation_id": CONVERSATION, "days": 3650}
    ),
    ("POST", PLACE + "/{conversation_id}/turns-with-feedbacks"): Valid(body={"days": 3650}),
    ("POST", PLACE + "/{conversation_id}/feedback/latest"): Valid(body={"since": WINDOW["start"]}),
    ("GET", PLACE + "/feedback/summary"): Valid(WINDOW),
    ("GET", PLACE + "/feedback/agents"): Valid(WINDOW),
    ("GET", PLACE + "/feedback/compare"): Valid(WINDOW | {"by": "version", "a": "1", "b": "2"}),
    ("GET", PLACE + "/feedback/calibration"): Valid(WINDOW),
    ("GET", PLACE + "/feedback/reasons"): Valid(WINDOW),
    ("POST", "/conversations/{tenant}/sessions"): Valid(body={}),
    ("GET", PLACE + "/audit"): Valid(WINDOW),
    ("POST", PLACE + "/audit/draws"): Valid(body=WINDOW | {"count": 3}),
    ("POST", "/dashboard/alerts"): Valid(raw=("application/x-www-form-urlencoded", "remove=nothing")),
    ("POST", PLACE + "/alerts/rules"): Valid(body={"kind": "silence", "name": "quiet"}),
    ("POST", PLACE + "/alerts/removals"): Valid(body={"name": "nothing"}),
    ("POST", PLACE + "/alerts/tests"): Valid(body={"channel": "nothing"}),
    ("POST", PLACE + "/strategies/search"): Valid(body={"text": "my wifi drops", "limit": 5}),
    ("POST", PLACE + "/{conversation_id}/detect"): Valid(body={"text": "No, that's wrong.", "strategies": 2}),
}
"""Valid requests to the routes that take a query or a body; `{…}` in a value stands for an id of the sample."""
DOCUMENTS = "/openapi.json", "/asyncapi.json"
"""Documents with tests of their own: their shape is not recorded."""
LAST = ("GET", "/tenants/{tenant}/erasures/{request_id}")
"""Route that is queried after the erasure that its path names."""


class Tokens:
    async def authenticate(self, token: str) -> Caller | None:
        tenant = {"all": None, "foreign": "globex"}.get(token, "")
        return None if tenant == "" else Caller("eve", tenant, None, ALL_SCOPES)


def needed(need: Need) -> str:
    if need.public:
        return "public"
    return " or ".join(sorted(need.scopes)) + (" of all tenants" if need.whole_platform else "") or "any token"


def shape(value: Any) -> str:
    """Return the field names of a JSON value in one line; the items of a list are merged."""
    match value:
        case dict():
            return "{" + ", ".join(f"{name}{shape(value[name])}" for name in sorted(value)) + "}"
        case list():
            return f"[{shape(merged_items(value))}]"
        case _:
            return ""


def merged_items(items: Sequence[Any]) -> Any:
    """Return an object with the fields of all `items`; None if they are not objects."""
    names = {name for one in items if isinstance(one, dict) for name in one}
    return {
        name: next((one[name] for one in items if isinstance(one, dict) and one.get(name) is not None), None)
        for name in names
    } or None


def body_of(answer: httpx.Response) -> str:
    media_type = answer.headers.get("content-type", "none").partition(";")[0]
    has_shape = media_type == "application/json" and answer.url.path not in DOCUMENTS
    return f"{media_type} {shape(answer.json())}" if has_shape else media_type


async def recorded(http: httpx.AsyncClient, method: str, template: str, ids: dict[str, str]) -> tuple[list[str], str]:
    """Return the statuses of a route in the order of HEADINGS, and the body of the valid response."""
    valid = VALID.get((method, template), Valid())
    address = template.format_map(ids)
    query = {name: value.format_map(ids) for name, value in valid.query.items()}
    media, content = valid.raw or ("application/json", "")
    sends = method == "POST" and (valid.body is not None or valid.raw is not None)
    sent: dict[str, Any] = {"params": query}
    if valid.body is not None:
        turns = {"turn_ids": [one.format_map(ids) for one in valid.body.get("turn_ids", ())]}
        sent["json"] = {**valid.body, **{name: turns[name] for name in turns if name in valid.body}}
    elif valid.raw is not None:
        sent |= {"content": content, "headers": {"Content-Type": media}}

    async def status(address: str = address, token: str = "all", **request: Any) -> str:
        http.cookies.clear()
        headers = request.pop("headers", {}) | ({"Authorization": f"Bearer {token}"} if token else {})
        return str((await http.request(method, address, headers=headers, **request)).status_code)

    bad_place = template.format_map(
        ids | {"tenant": "No%20tenant", "thread_id": "a%00b", "name": "..%2Fx", "source": "%3F"}
    )
    malformed = (
        {"content": "{", "headers": {"Content-Type": media}} if sends else {"params": query | {"start": "yesterday"}}
    )
    plain: dict[str, Any] = {"content": "{}", "headers": {"Content-Type": "text/plain"}}
    statuses = [
        await status(token="", **sent),
        await status(token="foreign", **sent),
        await status(bad_place, **sent) if "{" in template else "-",
        await status(**malformed),
        await status(**plain) if sends else "-",
    ]
    headers = sent.pop("headers", {}) | {"Authorization": "Bearer all"}
    answer = await http.request(method, address, headers=headers, **sent)
    if method == "DELETE":
        ids["request_id"] = answer.json()["request_id"]
    return [*statuses, str(answer.status_code)], body_of(answer)


def is_small(event: dict[str, Any]) -> bool:
    """Return True for the chat events of some thirty conversations, whose ids do not end in a number."""
    return event["topic"].startswith("chat.") and not re.search(r"-\d+$", event["conversationId"])


async def test_every_route_answers_as_recorded(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "webhooks.toml"
    hooks.write_text(WEBHOOKS, "utf-8")
    monkeypatch.setenv("HOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    monkeypatch.setenv("REPORTING_WEBHOOKS", str(hooks))
    lines = [" | ".join(("method", "path", *HEADINGS))]
    async with running_stack(postgres_url) as stack:
        file = write_sample(tmp_path / "sample.jsonl", NOW)
        sample = [event for event in map(json.loads, file.read_text("utf-8").splitlines()) if is_small(event)]
        await stack.publish(*sample)
        await stack.quiet()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await stack.rows("select from reporting.deliveries where last_answer is not null"):
                await asyncio.sleep(0.02)
            while not await stack.rows("select from reporting.issues"):
                # The first turns may have been grouped before the others arrived.
                await stack.rows("update reporting.issue_agents set grouped_at = 0")
                await asyncio.sleep(0.02)
        answered = next(
            one for one in sample if one["conversationId"] == CONVERSATION and one.get("senderType") == "agent"
        )
        [feedback] = await stack.rows("select feedback_id from reporting.feedbacks order by feedback_id limit 1")
        ids = {
            "tenant": TENANT,
            "project": PROJECT,
            "conversation_id": CONVERSATION,
            "thread_id": CONVERSATION,
            "turn_id": answered["turnId"],
            "message_id": answered["messageId"],
            "feedback_id": str(feedback["feedback_id"]),
            "name": "dashboard.css",
            "user_id": "mara",
            "wanted": "kto",
            "source": "zendesk",
            "endpoint": "learner",
            "issue": "999999",
        }
        needs = {
            (route.method, route.path_format): route.need
            for route in stack.plain_app().routes
            if isinstance(route, GuardedRoute) and route.need is not None
        }
        assert not VALID.keys() - needs.keys(), "these routes are gone"
        transport = httpx.ASGITransport(stack.app(Tokens(), seconds=60))
        own = {"Origin": "http://stack"}
        async with httpx.AsyncClient(transport=transport, base_url="http://stack", headers=own) as http:
            for route in sorted(needs, key=lambda route: (route == LAST, route[1], route[0])):
                statuses, body = await recorded(http, *route, ids)
                if route[0] != "GET":
                    await stack.quiet()
                lines += [" | ".join((*route, needed(needs[route]), *statuses)), f"    {body}"]
    found = "\n".join(lines) + "\n"
    if os.environ.get("RECORD"):
        RECORDED.write_text(found, "utf-8")
    assert found.splitlines() == RECORDED.read_text("utf-8").splitlines(), "RECORD=1 records an intended change"
