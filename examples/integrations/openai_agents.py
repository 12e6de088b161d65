"""An agent of the OpenAI Agents SDK that plans with feedback and publishes the exchange."""

import os
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

from agents import Agent, Runner, SQLiteSession, trace

from agent_feedback_kit import AgentFeedbackError, AsyncClient, Channel, before_planning, events

URL, TOKEN = os.environ["AGENT_FEEDBACK_URL"], os.environ["AGENT_FEEDBACK_TOKEN"]
feedback = AsyncClient(URL, token=TOKEN, tenant="acme", project="support", timeout=2)


@dataclass
class Context:
    advice: str | None


def instructions(run, agent):
    return f"You tell opening hours.\n\n{run.context.advice or ''}"


agent = Agent[Context](name="opening-hours", instructions=instructions)


async def reply(conversation, user, text):
    """Return the id of the turn, which its 👍 and 👎 name, and the answer."""
    turn = f"turn-{uuid4()}"
    planning = await before_planning(feedback, conversation, text, user_id=user, turn_id=turn, agent_id=agent.name)
    with trace(agent.name, group_id=conversation) as traced:
        session = SQLiteSession(conversation, os.environ.get("SESSIONS", "sessions.sqlite"))
        result = await Runner.run(agent, text, context=Context(planning.markdown), session=session)
    answered = {"sender_id": agent.name, "agent_id": result.last_agent.name, "trace_id": traced.trace_id}
    channel, answer = Channel("acme", "support", conversation), str(result.final_output)
    with suppress(AgentFeedbackError):  # the conversation goes on
        await events.publish_over_http(
            feedback,
            events.message(channel, f"{turn}-q", text, sender_id=user, turn_id=turn),
            events.message(channel, f"{turn}-a", answer, turn_id=turn, **answered),
        )
    return turn, answer


async def thumb(conversation, user, turn, reaction):
    await feedback.submit_feedback(conversation, turn, reaction, user_id=user)
