"""Text for planners, and time limits of the request for it."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

import httpx
import pytest

import agent_feedback_kit as kit
from tests.support.served import a_page, answering, hanging_up, nonsense, nowhere, silent, trickling
from tests.support.waits import PATIENCE_SECONDS

PLACE: dict[str, Any] = {"tenant": "acme", "project": "support", "token": "secret"}
Ask = Callable[..., Awaitable[kit.Planning]]


async def ask_async(url: str, *, transport: Any = None, **more: Any) -> kit.Planning:
    async with kit.AsyncClient(url, **PLACE, transport=transport) as client:
        return await timed(kit.before_planning(client, "c", "No, that is wrong.", **more), more)


async def ask_blocking(url: str, *, transport: Any = None, **more: Any) -> kit.Planning:
    def work() -> kit.Planning:
        return kit.before_planning_blocking(client, "c", "No, that is wrong.", **more)

    with kit.Client(url, **PLACE, transport=transport) as client:
        return await timed(asyncio.to_thread(work), more)


async def timed(work: Awaitable[kit.Planning], more: dict[str, Any]) -> kit.Planning:
    began = monotonic()
    planning = await work
    assert monotonic() - began < more.get("budget", 0.05) + PATIENCE_SECONDS
    return planning


@pytest.fixture(params=[ask_async, ask_blocking], ids=["async", "blocking"])
def ask(request: pytest.FixtureRequest) -> Ask:
    asked: Ask = request.param
    return asked


STRATEGY: Any = {
    "conversation_id": "c",
    "turn_id": "t",
    "strategy": "lookup",
    "intent": None,
    "quality_score": 0.9,
    "user_feedback_status": "accepted",
    "ranking_score": 0.5,
    "similarity": None,
}
DETECTED: Any = {
    "feedback": {
        "feedback_type": "rejected",
        "confidence": 0.9,
        "correction_type": None,
        "user_said": "No.",
        "reaction": "not_ok",
        "rules": [],
        "would_be_announced": True,
    },
    "target": None,
    "candidates": [],
    "rejections_in_a_row": 1,
    "planner_markdown": "### Previous Response Feedback\n",
}


def answer(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json=DETECTED | {"strategies": [STRATEGY], "answer_not_seen": True})


async def test_everything_is_asked_in_one_request(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[Any] = []

    def platform(request: httpx.Request) -> httpx.Response:
        asked.append((request.url.path, json.loads(request.content)))
        return answer(request)

    previous: Any = {"message_id": "m1", "content": "At nine."}
    more: Any = {"thread_id": "th", "reply_to_message_id": "m1", "user_id": "ann", "turn_id": "t2", "intent": "hours"}
    planning = await ask(
        "http://x", transport=httpx.MockTransport(platform), budget=60.0, previous=previous, agent_id="bot", **more
    )
    given = {"text": "No, that is wrong.", "previous": previous, "agent_id": "bot", **more}
    assert asked == [("/conversations/acme/support/c/detect", given | {"strategies": 5, "wait_seconds": 30.0})]
    assert planning.markdown == "### Previous Response Feedback\n"
    assert planning.strategies == (STRATEGY,) and planning.answer_not_seen and planning.missing is None
    assert [
        one for one in caplog.records if one.levelno >= logging.WARNING and one.name.startswith("agent_feedback")
    ] == []


@pytest.mark.parametrize("server", [silent, trickling, nonsense, a_page, hanging_up])
async def test_a_service_that_is_slow_or_wrong_gives_nothing_in_time(
    ask: Ask, server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with answering(server) as url:
        planning = await ask(url)
    assert (planning.detected, planning.strategies, planning.markdown) == (None, (), None)
    assert planning.missing
    assert [one.levelname for one in caplog.records if one.name.startswith("agent_feedback_kit")] == ["WARNING"]
    assert "secret" not in caplog.text and "wrong." not in caplog.text


async def test_a_token_that_cannot_be_had_gives_nothing() -> None:
    def fails() -> str:
        raise OSError("no token today")

    async with kit.AsyncClient("http://x", tenant="a", project="b", token=fails) as client:
        assert (await kit.before_planning(client, "c", "no")).markdown is None


async def test_what_cannot_be_sent_gives_nothing(ask: Ask) -> None:
    planning = await ask("http://x", transport=httpx.MockTransport(answer), turn_id=object(), budget=1.0)
    assert planning.missing == "TypeError"


def test_the_first_question_imports_nothing() -> None:
    """Imports block the event loop, so no deadline ends them."""
    program = """
import asyncio, sys
import agent_feedback_kit as kit
async def main():
    async with kit.AsyncClient(sys.argv[1], tenant="a", project="b") as client:
        known = set(sys.modules)
        await kit.before_planning(client, "c", "no", budget=5)
        print(sorted(name for name in set(sys.modules) - known if name.startswith("anyio._backends")))
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program, nowhere()], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
