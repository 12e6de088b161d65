"""A LangGraph graph with a node that plans with feedback, and one that publishes the exchange."""

import os
from contextlib import suppress

from langchain_core.messages import SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph

from agent_feedback_kit import AgentFeedbackError, AsyncClient, Channel, before_planning, events

AGENT, MODEL = "opening-hours", os.environ.get("MODEL", "gpt-5-mini")
URL, TOKEN = os.environ["AGENT_FEEDBACK_URL"], os.environ["AGENT_FEEDBACK_TOKEN"]
feedback = AsyncClient(URL, token=TOKEN, tenant="acme", project="support", timeout=2)


class State(MessagesState):
    advice: str | None


async def plan(state, config):
    place, text = config["configurable"], state["messages"][-1].content
    planning = await before_planning(feedback, place["thread_id"], text, user_id=place["user_id"], agent_id=AGENT)
    return {"advice": planning.markdown}


async def answer(state):
    advice = [SystemMessage(state["advice"])] if state["advice"] else []
    return {"messages": [await ChatOpenAI(model=MODEL).ainvoke([*advice, *state["messages"]])]}


async def publish(state, config):
    place, (asked, said) = config["configurable"], state["messages"][-2:]
    channel, turn = Channel("acme", "support", place["thread_id"]), asked.id
    question = events.message(channel, asked.id, asked.text, sender_id=place["user_id"], turn_id=turn)
    answered = events.message(channel, said.id, said.text, sender_id=AGENT, agent_id=AGENT, turn_id=turn, model=MODEL)
    with suppress(AgentFeedbackError):  # the conversation goes on
        await events.publish_over_http(feedback, question, answered)


graph = StateGraph(State).add_sequence([plan, answer, publish]).set_entry_point("plan").compile(InMemorySaver())


async def reply(conversation, user, text):
    """Return the id of the turn, which its 👍 and 👎 name, and the answer."""
    config = {"configurable": {"thread_id": conversation, "user_id": user}}
    state = await graph.ainvoke({"messages": [("user", text)]}, config)
    return state["messages"][-2].id, state["messages"][-1].text


async def thumb(conversation, user, turn, reaction):
    await feedback.submit_feedback(conversation, turn, reaction, user_id=user)
