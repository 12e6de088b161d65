"""An agent of nodes over a shared state, as in LangGraph, that plans with the feedback on its last answer.

    agent-feedback up &
    AGENT_FEEDBACK_TOKEN=$(cat .agent-feedback/token) python examples/graph_agent.py

Nodes receive the state and return its changes, so LangGraph can run them unchanged:

    graph = StateGraph(State)
    for name, node in nodes(client).items():
        graph.add_node(name, node)
    graph.add_edge(START, "listen"); graph.add_edge("listen", "plan"); graph.add_edge("plan", "act")
    graph.add_edge("act", "publish"); graph.add_edge("publish", END)
    await graph.compile().ainvoke({"conversation_id": "c1", "user_id": "ann", "text": "..."})
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypedDict
from uuid import uuid4

from agent_feedback_kit import AgentFeedbackError, AsyncClient, Channel, before_planning, events
from agent_feedback_kit.answers import PreviousAnswer
from agent_feedback_kit.timeline.loading import refresh_on_load
from agent_feedback_kit.timeline.model import Block, Timeline, Turn

AGENT = "trip-planner"


class State(TypedDict, total=False):
    """State shared by the nodes. `timeline` and `previous` persist between the messages of a conversation."""

    conversation_id: str
    user_id: str
    text: str
    timeline: Timeline
    announcement: str | None
    advice: str | None
    turn_id: str
    strategy: str
    answer: str
    previous: PreviousAnswer


Node = Callable[[State], Awaitable[State]]


def nodes(client: AsyncClient) -> dict[str, Node]:
    """Return the graph's nodes, in the order of execution."""

    async def listen(state: State) -> State:
        """Merge the feedback given since the last message into the timeline."""
        known = state.get("timeline", Timeline())
        heard = await refresh_on_load(client, state["conversation_id"], known, "cold")
        return {"timeline": heard.timeline, "announcement": heard.announcement}

    async def plan(state: State) -> State:
        """Determine how the last answer was received, and choose a strategy."""
        turn_id = f"turn-{uuid4()}"
        planning = await before_planning(
            client,
            state["conversation_id"],
            state["text"],
            user_id=state["user_id"],
            turn_id=turn_id,
            agent_id=AGENT,
            previous=state.get("previous"),
        )
        rejected = planning.detected is not None and planning.detected["feedback"]["feedback_type"] == "rejected"
        return {"turn_id": turn_id, "advice": planning.markdown, "strategy": "ask_back" if rejected else "timetable"}

    async def act(state: State) -> State:
        """Answer; put your model here, with `advice` and `announcement` in its prompt."""
        if state["strategy"] == "ask_back":
            return {"answer": "I am sorry. Which train do you mean?"}
        return {"answer": "The 7:40 one."}

    async def publish(state: State) -> State:
        """Send the exchange to the platform, and keep the turn in the timeline and for the next plan."""
        turn_id, channel = (
            state["turn_id"],
            Channel(client.project.tenant, client.project.project, state["conversation_id"]),
        )
        asked = events.message(channel, f"{turn_id}-q", state["text"], sender_id=state["user_id"], turn_id=turn_id)
        answered = events.message(
            channel,
            f"{turn_id}-a",
            state["answer"],
            sender_id=AGENT,
            agent_id=AGENT,
            turn_id=turn_id,
            strategy=state["strategy"],
        )
        try:
            await events.publish_over_http(client, asked, answered)
        except AgentFeedbackError as error:
            print(f"The exchange was not published: {error}")
        timeline = state["timeline"]
        turn = Turn(turn_id, (Block("assistant", f"ar:{turn_id}.assistant", state["answer"]),))
        return {
            "timeline": Timeline((*timeline.turns, turn), timeline.last_known_feedback_ts, timeline.watermark),
            "previous": {
                "message_id": f"{turn_id}-a",
                "turn_id": turn_id,
                "agent_id": AGENT,
                "question": state["text"],
                "content": state["answer"],
                "strategy": state["strategy"],
            },
        }

    return {"listen": listen, "plan": plan, "act": act, "publish": publish}


async def run(client: AsyncClient, state: State) -> State:
    """Pass one message through the graph; return the state for the next one."""
    for node in nodes(client).values():
        state = {**state, **(await node(state))}
    return state


async def main() -> None:
    url = os.environ.get("AGENT_FEEDBACK_URL", "http://127.0.0.1:8080")
    token = os.environ["AGENT_FEEDBACK_TOKEN"]
    async with AsyncClient(url, token=token, tenant="demo", project="trips") as client:
        state: State = {"conversation_id": f"c-{uuid4()}", "user_id": "ann"}
        for text in ("Which train gets me to Porto by nine?", "No, that's wrong, it was cancelled."):
            state = await run(client, {**state, "text": text})
            print(f"ann: {text}\n{state['announcement'] or ''}\n{AGENT} ({state['strategy']}): {state['answer']}\n")


if __name__ == "__main__":
    asyncio.run(main())
