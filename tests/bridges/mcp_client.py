"""Calls the read-only MCP server with the official client: `python mcp_client.py SERVER.py`; prints JSON.

Runs in the environment that has the packages `mcp` and `httpx`.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

KIT = str(Path(__file__).parents[2] / "libs" / "agentkit")


async def main(path: str) -> None:
    server = StdioServerParameters(command=sys.executable, args=[path], env=os.environ | {"PYTHONPATH": KIT})
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        rejected = await client.call_tool("search_feedback", {"reaction": "not_ok", "limit": 5})
        conversation = json.loads(rejected.content[0].text)["items"][0]["conversation_id"]
        latest = await client.call_tool("latest_reactions", {"conversation_id": conversation})
        period = await client.call_tool(
            "conversations_with_feedback", {"start": "2020-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z"}
        )
        strategies = await client.call_tool("successful_strategies", {"question": "When do you open?"})
        refused = await client.call_tool("conversations_with_feedback", {"start": "yesterday", "end": "today"})
    calls = {"rejected": rejected, "latest": latest, "period": period, "strategies": strategies}
    print(
        json.dumps(
            {
                "tools": {tool.name: tool.annotations.read_only_hint for tool in tools},
                "refused": refused.is_error,
                **{name: json.loads(call.content[0].text) for name, call in calls.items()},
            }
        )
    )


asyncio.run(main(sys.argv[1]))
