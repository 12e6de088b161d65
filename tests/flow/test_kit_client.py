"""The kit's clients and chat events with all services in one process."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import agent_feedback_kit as kit
from agent_feedback_kit import events
from agent_feedback_kit.answers import FilterArguments
from reporting.http.bodies import FilterBody
from tests.support.running_stack import RunningStack
from tests.support.served import served

Call = Callable[..., Awaitable[Any]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(stack: RunningStack) -> AsyncIterator[str]:
    async with served(stack.app()) as address:
        yield address


@pytest.fixture(params=["async", "sync"])
async def call(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Call]:
    """Yield `call(method, ...)` of either client, with the token that allows everything."""
    place: Any = {"tenant": "acme", "project": "support"}
    if request.param == "async":
        async with kit.AsyncClient(url, token="all", **place) as client:
            yield lambda name, *args, **given: getattr(client, name)(*args, **given)
    else:
        with kit.Client(url, token="all", **place) as blocking:
            yield lambda name, *args, **given: asyncio.to_thread(getattr(blocking, name), *args, **given)


async def test_from_the_first_message_to_the_report(stack: RunningStack, call: Call, request: Any) -> None:
    name = request.node.callspec.id
    channel = kit.Channel("acme", "support", f"kit/{name} 1")
    question, answered = f"{name}-q", f"{name}-a"
    said = [
        events.message(channel, question, "When does it open?", sender_id="ann", turn_id="t1"),
        events.message(
            channel,
            answered,
            "At nine.",
            sender_id="bot",
            agent_id="bot",
            turn_id="t1",
            strategy="lookup",
            quality_score=0.9,
        ),
        events.reaction(channel, answered, "👎", user_id="ben"),
        events.reply(channel, f"{name}-r", answered, "Thanks!", sender_id="cem"),
    ]
    answer = await call("ingest", [event.payload for event in said])
    assert answer == {"accepted": 4, "refused": [], "refused_total": 0}
    conversation = channel.conversation_id
    taken = await call("submit_feedback", conversation, "t1", "not_ok", text="Too early.", tags=["wrong"])
    again = await call("submit_feedback", conversation, "t1", "ok", user_id="dee")
    assert taken["feedback_id"] != again["feedback_id"]
    await stack.quiet()

    own = await call("own_feedback", conversation, "t1")
    assert (own["reaction"], own["text"], own["tags"]) == ("not_ok", "Too early.", ["wrong"])
    latest = await call("latest", conversation)
    assert [item["turn_id"] for item in latest["items"]] == ["t1"]
    detected = await call("detect", conversation, "No, that is wrong, I asked about Sunday.", user_id="ann")
    assert detected["feedback"]["feedback_type"] == "rejected"
    assert detected["target"]["turn_id"] == "t1"
    assert "t1" in detected["planner_markdown"]
    assert (await call("search_strategies", text="When does it open?"))["items"] is not None
    page = await call("period", "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z", include_turns=True, limit=500)
    [mine] = [item for item in page["items"] if item["conversation_id"] == conversation]
    assert mine["feedback_counts"]["user"] == 3

    found = await call("search", conversation_id=conversation, origin="user", reaction="not_ok", tag="wrong")
    [hit] = found["items"]
    assert (hit["feedback_id"], hit["text"], found["next_cursor"]) == (taken["feedback_id"], "Too early.", None)
    with pytest.raises(kit.InvalidRequest):
        await call("search", cursor="not a cursor")

    await call("clear_feedback", conversation, "t1")
    await stack.quiet()
    assert (await call("own_feedback", conversation, "t1"))["reaction"] is None
    with pytest.raises(kit.NotFound):
        await call("submit_feedback", conversation, "no such turn", "ok")


async def test_the_integration_in_the_readme_works_as_printed(url: str, stack: RunningStack) -> None:
    readme = (Path(__file__).parents[2] / "libs" / "agentkit" / "README.md").read_text("utf-8")
    program = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
    program = program.replace("http://127.0.0.1:8080", url).replace('"..."', '"all"')
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, complaints = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0, complaints.decode()
    assert "feedback_type" in said.decode()
    await stack.quiet()
    async with kit.AsyncClient(url, token="all", tenant="demo", project="support") as client:
        assert (await client.own_feedback("c-1", "t1"))["reaction"] == "not_ok"


def test_the_kit_has_every_filter_of_the_list_page() -> None:
    assert set(FilterArguments.__annotations__) == set(FilterBody.model_fields)
