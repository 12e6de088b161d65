"""The read-only MCP server, called by the official client over stdio."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.support.running_stack import running_stack
from tests.support.served import served
from tests.support.tool_environment import ROOT, environment_of, finished

pytestmark = [pytest.mark.bridges, pytest.mark.timeout(900)]


async def test_an_mcp_client_reads_feedback_and_can_change_nothing(postgres_url: str) -> None:
    programs = await environment_of("mcp", "mcp==2.3.0", "httpx==0.28.1")
    events = (ROOT / "examples" / "first.ndjson").read_text().replace("NOW", datetime.now(UTC).isoformat())
    async with running_stack(postgres_url) as stack, served(stack.app()) as url, stack.client() as http:
        ndjson = {"Content-Type": "application/x-ndjson"}
        accepted = await http.post("/ingest/acme/support/events", content=events, headers=ndjson)
        assert accepted.is_success, accepted.text
        await stack.quiet()
        printed = await finished(
            *(str(programs / "python"), str(ROOT / "tests/bridges/mcp_client.py")),
            str(ROOT / "examples/integrations/mcp_server.py"),
            AGENT_FEEDBACK_URL=url,
            AGENT_FEEDBACK_TOKEN="all",
            AGENT_FEEDBACK_PROJECT="acme/support",
        )
        expected = await http.post("/conversations/acme/support/feedback/search", json={"reaction": "not_ok"})
    result = json.loads(printed.splitlines()[-1])
    assert result["tools"] == dict.fromkeys(
        ("search_feedback", "conversations_with_feedback", "latest_reactions", "successful_strategies"), True
    )
    rejected = result["rejected"]["items"]
    assert rejected
    assert [row["feedback_id"] for row in rejected] == [row["feedback_id"] for row in expected.json()["items"]][:5]
    conversation = rejected[0]["conversation_id"]
    assert rejected[0]["turn_id"] in [row["turn_id"] for row in result["latest"]["items"]]
    assert conversation in [row["conversation_id"] for row in result["period"]["items"]]
    assert result["strategies"]["items"] == []
    assert result["refused"]
