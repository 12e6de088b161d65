"""All four services: another project's events under the same ids change no response, wait or figure of ours."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from fastapi.routing import APIRoute

from reporting.model.selection import ALWAYS, Project
from reporting.reviews.sample import Draw, draw
from tests.support.neighbours import ANN, BOB, CONVERSATIONS, NEIGHBOURS, OURS, POSITIONS, Place, chat_events
from tests.support.running_stack import RunningStack, running_stack

PROJECT = f"/conversations/{OURS.tenant}/{OURS.project}"
CONVERSATION = f"{PROJECT}/{OURS.conversation}"
WINDOW = {"start": "2026-01-01T00:00:00Z", "end": "2026-12-31T00:00:00Z"}
FIGURES = f"start={WINDOW['start']}&end={WINDOW['end']}"
NEW_MESSAGE = {"text": "No, that is wrong.", "ts": "2026-01-01T10:05:00Z", "user_id": ANN, "turn_id": "t3"}
QUESTIONS: list[tuple[str, str, Any]] = [
    ("POST", f"{PROJECT}/feedback/conversations-in-period", WINDOW | {"include_turns": True}),
    ("POST", f"{PROJECT}/feedback/search", WINDOW),
    ("POST", f"{PROJECT}/feedback/search", WINDOW | {"conversation_id": OURS.conversation}),
    ("POST", f"{PROJECT}/feedback/artifacts", {"conversation_id": OURS.conversation, "days": 3650}),
    ("POST", f"{PROJECT}/feedback/artifacts", {"scope": "user", "user_id": ANN, "days": 3650}),
    ("POST", f"{CONVERSATION}/turns-with-feedbacks", {"days": 3650}),
    ("POST", f"{CONVERSATION}/feedback/latest", {}),
    ("GET", f"{CONVERSATION}/turns/t1/feedback?user_id={BOB}", None),
    ("GET", f"{CONVERSATION}/turns/t2/feedback?user_id={ANN}", None),
    ("GET", f"{PROJECT}/feedback/summary?{FIGURES}", None),
    ("GET", f"{PROJECT}/feedback/agents?min_votes=1&{FIGURES}", None),
    ("GET", f"{PROJECT}/feedback/reasons?{FIGURES}", None),
    ("GET", f"{PROJECT}/feedback/compare?by=agent&a=bot&b=other&{FIGURES}", None),
    ("GET", f"{PROJECT}/feedback/calibration?{FIGURES}", None),
    *(
        ("GET", f"{PROJECT}/exports/{wanted}?everyone=true&{FIGURES}", None)
        for wanted in ("kto", "dpo", "sft", "events")
    ),
    ("GET", f"{PROJECT}/exports/kto/counts?everyone=true&{FIGURES}", None),
    ("GET", f"{CONVERSATION}/turns/t1/metadata", None),
    ("GET", f"{CONVERSATION}/turns/t2/metadata", None),
    ("POST", f"{PROJECT}/strategies/search", {"intent": "hours"}),
    ("POST", f"{PROJECT}/strategies/search", {"text": "No, that is wrong.", "user_id": ANN}),
    ("POST", f"{CONVERSATION}/detect", NEW_MESSAGE),
    ("GET", f"{PROJECT}/refused", None),
    ("GET", f"{PROJECT}/audit?{FIGURES}", None),
    ("POST", f"{CONVERSATION}/detect", NEW_MESSAGE | {"look_back": "user"}),
    *(
        (
            "GET",
            f"{page}{'&' if '?' in page else '?'}at={OURS.tenant}/{OURS.project}&from=2026-01-01&to=2026-01-31&tz=UTC",
            None,
        )
        for page in (
            "/",
            "/dashboard/compare?dimension=agent",
            "/dashboard/feedback",
            "/dashboard/feedback?words=acme",
            "/dashboard/feedback.csv",
            f"/dashboard/feedback.csv?user_id={ANN}",
            "/dashboard/accuracy",
            "/dashboard/review",
            f"/dashboard/conversation?id={OURS.conversation}",
            f"/dashboard/conversation?id={OURS.conversation}&turn=t1",
        )
    ),
]
"""A query for each route about a project."""
NO_QUESTION = {
    "/conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/feedback",
    "/conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/reviews",
    "/ingest/{tenant}/{project}/events",
    "/dashboard/accuracy",
}
"""Routes of a project that only accept input."""
NO_PAGE_OF_A_PROJECT = ("/dashboard/assets/", "/dashboard/erase", "/dashboard/access", "/dashboard/sessions")
"""Pages without data, or about a whole tenant; `test_reporting_sessions.py` queries the latter."""
ASKED_ELSEWHERE = tuple(
    f"{prefix}/{part}" for prefix in ("/conversations/{tenant}/{project}", "/dashboard") for part in ("issue", "alerts")
)
"""Routes that need other data; `test_reporting_issues.py` and `test_alerts_page.py` query them across tenants."""


@pytest_asyncio.fixture(loop_scope="session")
async def alone(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RunningStack]:
    """Yield a stack with our events only; without row-level security, which would hide leaks."""
    for service in ("FEEDBACK", "INFERENCE", "REPORTING"):
        monkeypatch.setenv(f"{service}_ROW_SECURITY", "false")
    async with running_stack(postgres_url) as running:
        await fill(running, OURS)
        yield running


async def fill(stack: RunningStack, place: Place) -> None:
    """Publish the place's chat, an event that is rejected, and an explicit judgement of the second turn by Bob."""
    refused = {"topic": "chat.message.ingested", "eventId": "q1", "tenant": place.tenant, "project": place.project}
    await stack.publish(*chat_events(place), refused | {"conversationId": place.conversation})
    await stack.quiet()
    path = f"/conversations/{place.tenant}/{place.project}/{place.conversation}/turns/t2/feedback"
    body = {"reaction": "ok" if place == OURS else "not_ok", "text": place.says("judged"), "user_id": BOB}
    async with stack.client() as http:
        assert (await http.post(path, json=body)).status_code == 202
    async with stack.stack.services["reporting"].parts.pool.acquire() as connection:
        assert await draw(connection, Project(place.tenant, place.project), ALWAYS, Draw(), 0)
    await stack.quiet()


async def answers(stack: RunningStack, kind: str) -> dict[str, Any]:
    """Return the responses by query that a neighbour of that kind must not change."""
    asked = [question for question in QUESTIONS if kind in NEIGHBOURS or of_conversation(*question[1:])]
    found = {}
    async with stack.client("support") as http:
        for method, path, body in asked:
            response = await http.request(method, path, json=body)
            assert response.status_code == 200, (path, response.text)
            json = response.headers["content-type"] == "application/json"
            text = re.sub(r'data-stamp="[^"]*"', "", response.text)
            values = response.json() if json else {"lines": sorted(text.splitlines())}
            found[f"{method} {path} {body}"] = {k: v for k, v in values.items() if k not in POSITIONS}
    return found


def of_conversation(path: str, body: Any) -> bool:
    """Return True if the query concerns only our own conversation."""
    everywhere = (body or {}).get("look_back") == "user"
    named = CONVERSATION in path or f"id={OURS.conversation}" in path
    return (named and not everywhere) or "conversation_id" in (body or {})


@pytest.mark.parametrize("kind", CONVERSATIONS)
async def test_a_neighbour_changes_no_answer(alone: RunningStack, kind: str) -> None:
    before = await answers(alone, kind)
    assert await alone.stack.services["chat_bridge"].parts.store.parked() == 1
    await fill(alone, CONVERSATIONS[kind])
    after = await answers(alone, kind)
    for question in before:
        assert after[question] == before[question], question
        # There are no pairs of answers, and counts name nothing.
        if not any(part in question for part in ("/exports/dpo", "/counts", "/audit?")):
            assert re.search(r"\b(t[12]|bot|not_ok|q[12])\b", str(before[question])), (
                f"{question} shows nothing of ours"
            )
    assert await alone.stack.services["chat_bridge"].parts.store.parked() == 1, (
        "the neighbour's message released what waits for ours"
    )


async def test_every_route_below_a_project_is_asked(alone: RunningStack) -> None:
    routes = [
        route for service in alone.stack.services.values() for router in service.routers for route in router.routes
    ]
    for route in routes:
        if not isinstance(route, APIRoute) or route.path.startswith((*ASKED_ELSEWHERE, *NO_PAGE_OF_A_PROJECT)):
            continue
        if not ("{project}" in route.path or route.path.startswith("/dashboard") or route.path == "/"):
            continue
        asked = [path.partition("?")[0] for method, path, _ in QUESTIONS if method in (route.methods or ())]
        written_only = "POST" in (route.methods or ()) and re.sub(r":\w+}", "}", route.path) in NO_QUESTION
        assert written_only or any(route.path_regex.match(path) for path in asked), route.path
