"""The example agents with all services in one process, and without any service."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import pytest_asyncio

import agent_feedback_kit as kit
from agent_feedback_kit.planning import before
from agent_feedback_kit.timeline import loading
from tests.support.running_stack import RunningStack
from tests.support.served import nowhere, served

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow generous timeouts: the tests check behaviour, not speed."""
    for function in (before.before_planning, before.before_planning_blocking):
        monkeypatch.setitem(function.__kwdefaults__, "budget", 20.0)  # type: ignore[arg-type]
    monkeypatch.setitem(loading.refresh_on_load.__kwdefaults__, "seconds", 20.0)  # type: ignore[arg-type]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(stack: RunningStack) -> AsyncIterator[str]:
    async with served(stack.app()) as address:
        yield address


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def fastapi_agent(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setenv("AGENT_FEEDBACK_URL", url)
    monkeypatch.setenv("AGENT_FEEDBACK_TOKEN", "all")
    app = example("fastapi_agent").create_app()
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://agent") as http,
    ):
        yield http


def said(text: str) -> dict[str, Any]:
    return {"conversation_id": "fastapi/1", "user_id": "ann", "text": text}


async def test_the_fastapi_agent_gets_what_people_think(
    stack: RunningStack, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fastapi_agent(url, monkeypatch) as http:
        first = (await http.post("/chat", json=said("When do you open?"))).json()
        assert first["text"] == "We open at nine."
        await stack.quiet()
        thumb = {"conversation_id": "fastapi/1", "user_id": "ben", "turn_id": first["turn_id"], "reaction": "not_ok"}
        assert (await http.post("/thumbs", json=thumb)).status_code == 202
        assert (await http.post("/thumbs", json=thumb | {"turn_id": "nowhere"})).status_code == 404
        second = (await http.post("/chat", json=said("No, that is wrong. I asked about Sunday."))).json()
        assert second["text"] == "I am sorry. Which day do you mean?"
        assert first["turn_id"] in second["advice"]
    await stack.quiet()
    async with kit.AsyncClient(url, token="all", tenant="demo", project="support") as client:
        own = await client.own_feedback("fastapi/1", first["turn_id"], user_id="ben")
        assert own["reaction"] == "not_ok"
        [mine] = [
            item
            for item in (await client.period("2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"))["items"]
            if item["conversation_id"] == "fastapi/1"
        ]
        assert (mine["feedback_counts"]["user"], mine["feedback_counts"]["machine"]) == (1, 1)


async def test_the_fastapi_agent_answers_without_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(before.before_planning.__kwdefaults__, "budget", 0.05)  # type: ignore[arg-type]
    async with fastapi_agent(nowhere(), monkeypatch) as http:
        answer = await http.post("/chat", json=said("When do you open?"))
        assert answer.json()["text"] == "We open at nine."
        thumb = {"conversation_id": "c", "user_id": "ben", "turn_id": "t", "reaction": "ok"}
        assert (await http.post("/thumbs", json=thumb)).status_code == 503


async def test_the_graph_agent_asks_back_after_a_rejection(stack: RunningStack, url: str) -> None:
    agent = example("graph_agent")
    async with kit.AsyncClient(url, token="all", tenant="demo", project="trips") as client:
        state = {"conversation_id": "graph/1", "user_id": "ann", "text": "Which train gets me to Porto by nine?"}
        state = await agent.run(client, state)
        assert (state["strategy"], state["answer"]) == ("timetable", "The 7:40 one.")
        first = state["turn_id"]
        await client.submit_feedback("graph/1", first, "not_ok", text="Cancelled.", user_id="ann")
        await stack.quiet()
        state = await agent.run(client, state | {"text": "No, that's wrong, it was cancelled."})
        assert state["strategy"] == "ask_back"
        assert "text=Cancelled." in state["announcement"] and "incorporated" in state["announcement"]
        assert state["timeline"].turns[0].blocks[-1].path.startswith(f"ar:{first}.feedback.")
        state = await agent.run(client, state | {"text": "The one on Sunday."})
        assert len(state["timeline"].turns) == 3
    async with kit.AsyncClient(nowhere(), tenant="demo", project="trips", timeout=0.5) as gone:
        state = await agent.run(gone, {"conversation_id": "graph/2", "user_id": "ann", "text": "Hello?"})
        assert state["answer"] == "The 7:40 one."
