"""The examples for agent frameworks, with the frameworks' packages, a fake model and the running stack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.fake_model import AFTER_A_REJECTION, ANSWER, fake_model
from tests.support.running_stack import running_stack
from tests.support.served import served
from tests.support.tool_environment import ROOT, environment_of, finished

pytestmark = [pytest.mark.bridges, pytest.mark.timeout(1_500)]
EXAMPLES = {
    "langgraph_agent": ("langgraph-agent", "langgraph==1.2.24", "langchain-openai==1.7.4", "httpx==0.28.1"),
    "openai_agents": ("openai-agents", "openai-agents==0.24.0", "httpx==0.28.1"),
    "litellm_callback": ("litellm", "litellm==1.110.2", "httpx==0.28.1"),
}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_agent_plans_with_the_verdict_on_its_answer(name: str, postgres_url: str, tmp_path: Path) -> None:
    environment, *requirements = EXAMPLES[name]
    programs = await environment_of(environment, *requirements)
    example = ROOT / "examples" / "integrations" / f"{name}.py"
    async with running_stack(postgres_url) as stack, served(stack.app()) as url, fake_model() as model:
        printed = await finished(
            *(str(programs / "python"), str(ROOT / "tests/bridges/converse.py"), str(example)),
            AGENT_FEEDBACK_URL=url,
            AGENT_FEEDBACK_TOKEN="all",
            OPENAI_BASE_URL=model,
            OPENAI_API_KEY="unused",
            OPENAI_AGENTS_DISABLE_TRACING="1",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
            SESSIONS=str(tmp_path / "sessions.sqlite"),
        )
        await stack.quiet()
        (rejected, first), (accepted, second) = json.loads(printed.splitlines()[-1])
        assert (first, second) == (ANSWER, AFTER_A_REJECTION)
        async with stack.client() as http:
            asked = {"conversation_id": name}
            found = await http.post("/conversations/acme/support/feedback/search", json=asked)
        assert sorted((row["turn_id"], row["origin"], row["reaction"]) for row in found.json()["items"]) == sorted(
            [(rejected, "machine", "not_ok"), (rejected, "user", "not_ok"), (accepted, "user", "ok")]
        )
        messages = await stack.rows(
            f"select content from reporting.messages where conversation_id = '{name}' order by said_at"
        )
        assert [row["content"] for row in messages] == [
            "When does the museum open?",
            ANSWER,
            "No, that's wrong, I asked about Sunday.",
            AFTER_A_REJECTION,
        ]
