"""A FastAPI agent that receives feedback on its answers.

    agent-feedback up &
    AGENT_FEEDBACK_TOKEN=$(cat .agent-feedback/token) uvicorn --factory examples.fastapi_agent:create_app --port 8000

    curl -s localhost:8000/chat -H 'content-type: application/json' \\
      -d '{"conversation_id": "c1", "user_id": "ann", "text": "When do you open?"}'
    curl -s localhost:8000/thumbs -H 'content-type: application/json' \\
      -d '{"conversation_id": "c1", "user_id": "ann", "turn_id": "...", "reaction": "not_ok", "text": "On Sundays?"}'

Put your model into `answer`; nothing else has to change.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from uuid import uuid4

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from agent_feedback_kit import AgentFeedbackError, AsyncClient, Channel, NotFound, before_planning, events
from agent_feedback_kit.answers import PreviousAnswer

log = logging.getLogger("fastapi_agent")
AGENT, TENANT, PROJECT = "opening-hours", "demo", "support"
REMEMBERED = 10_000
"""Number of conversations whose last answer is kept for the next question."""


class Said(BaseModel):
    conversation_id: str
    user_id: str
    text: str


class Thumb(BaseModel):
    conversation_id: str
    user_id: str
    turn_id: str
    reaction: Literal["ok", "not_ok", "neutral"] | None
    text: str | None = None


class Answered(BaseModel):
    turn_id: str
    text: str
    advice: str | None


def answer(text: str, advice: str | None) -> str:
    """Answer a message; put your model here.

    `advice` is Markdown for its prompt about the reaction to the last answer.
    """
    if advice and "**Status:** REJECTED" in advice:
        return "I am sorry. Which day do you mean?"
    return "We open at nine."


def create_app() -> FastAPI:
    """Return the application, with an open client while it runs. URL and token come from the environment."""
    background: set[asyncio.Task[None]] = set()
    answered: dict[str, PreviousAnswer] = {}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        url = os.environ.get("AGENT_FEEDBACK_URL", "http://127.0.0.1:8080")
        token = os.environ["AGENT_FEEDBACK_TOKEN"]
        async with AsyncClient(url, token=token, tenant=TENANT, project=PROJECT) as client:
            app.state.client = client
            yield
            await asyncio.gather(*background)

    app = FastAPI(lifespan=lifespan)

    async def publish(*said: events.ChatEvent) -> None:
        try:
            await events.publish_over_http(app.state.client, *said)
        except AgentFeedbackError as error:
            log.warning("An exchange was not published (%s).", error)

    @app.post("/chat")
    async def chat(said: Said) -> Answered:
        turn_id = f"turn-{uuid4()}"
        planning = await before_planning(
            app.state.client,
            said.conversation_id,
            said.text,
            user_id=said.user_id,
            turn_id=turn_id,
            agent_id=AGENT,
            previous=answered.pop(said.conversation_id, None),
        )
        text = answer(said.text, planning.markdown)
        answered[said.conversation_id] = {
            "message_id": f"{turn_id}-a",
            "turn_id": turn_id,
            "agent_id": AGENT,
            "question": said.text,
            "content": text,
        }
        if len(answered) > REMEMBERED:  # of the conversation that was silent longest; the platform has indexed it
            del answered[next(iter(answered))]
        channel = Channel(TENANT, PROJECT, said.conversation_id)
        # Published in the background: nobody waits for it.
        task = asyncio.create_task(
            publish(
                events.message(channel, f"{turn_id}-q", said.text, sender_id=said.user_id, turn_id=turn_id),
                events.message(channel, f"{turn_id}-a", text, sender_id=AGENT, agent_id=AGENT, turn_id=turn_id),
            )
        )
        background.add(task)
        task.add_done_callback(background.discard)
        return Answered(turn_id=turn_id, text=text, advice=planning.markdown)

    @app.post("/thumbs", status_code=202)
    async def thumbs(thumb: Thumb) -> None:
        try:
            await app.state.client.submit_feedback(
                thumb.conversation_id, thumb.turn_id, thumb.reaction, text=thumb.text, user_id=thumb.user_id
            )
        except NotFound:
            raise HTTPException(404, "No such turn.") from None
        except AgentFeedbackError:
            raise HTTPException(503, "Feedback cannot be taken now; try again.") from None

    return app
