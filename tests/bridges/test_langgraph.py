"""The example's nodes as a real LangGraph graph, against the running stack."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.running_stack import running_stack
from tests.support.served import served
from tests.support.tool_environment import ROOT, environment_of

pytestmark = [pytest.mark.bridges, pytest.mark.timeout(900)]


async def test_the_graph_plans_with_what_was_said(postgres_url: str) -> None:
    programs = await environment_of("langgraph", "langgraph>=1.2,<2", "httpx>=0.28")
    async with running_stack(postgres_url) as stack, served(stack.app()) as url:
        process = await asyncio.create_subprocess_exec(
            *(str(programs / "python"), str(ROOT / "tests" / "bridges" / "run_langgraph.py"), url),
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()
        assert process.returncode == 0
    said = [json.loads(line) for line in printed.splitlines()]
    (first, _, _), (second, answer, advice) = said
    assert (first, second, answer) == ("timetable", "ask_back", "I am sorry. Which train do you mean?")
    assert "Previous Response Feedback" in advice
