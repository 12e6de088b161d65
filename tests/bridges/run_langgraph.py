"""Builds the example's nodes into a LangGraph graph and sends two messages through it: `python run_langgraph.py URL`.

Runs in the environment that has LangGraph. Prints the final state's strategy and answer of each message as JSON.
"""

import asyncio
import json
import sys
from pathlib import Path

from langgraph.graph import END, START, StateGraph

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "libs" / "agentkit")]
from graph_agent import State, nodes  # noqa: E402

from agent_feedback_kit import AsyncClient  # noqa: E402
from agent_feedback_kit.planning import before  # noqa: E402

before.before_planning.__kwdefaults__["budget"] = 5.0  # the test checks behaviour, not speed


async def main(url: str) -> None:
    async with AsyncClient(url, token="all", tenant="demo", project="trips") as client:
        graph = StateGraph(State)
        made = nodes(client)
        for name, node in made.items():
            graph.add_node(name, node)
        for start, end in zip([START, *made], [*made, END], strict=True):
            graph.add_edge(start, end)
        compiled = graph.compile()
        state = {"conversation_id": "c-langgraph", "user_id": "ann"}
        for text in ("Which train gets me to Porto by nine?", "No, that's wrong, it was cancelled."):
            state = await compiled.ainvoke({**state, "text": text})
            print(json.dumps([state["strategy"], state["answer"], state["advice"]]))


asyncio.run(main(sys.argv[1]))
