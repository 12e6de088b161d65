"""Request bodies of the inference service's HTTP routes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from contracts.base import TEXT_LIMIT, Id, Label, Text
from contracts.instants import Instant
from inference.detection import LookBack
from inference.last_answer import LastAnswer


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NewMessage(Body):
    """A person's message that the agent is about to answer."""

    text: Text = Field(description=f"The text of the message, at most {TEXT_LIMIT} characters.")
    ts: Instant | None = Field(
        default=None, description="The time of the message, RFC 3339 with an offset; by default now."
    )
    message_id: Id | None = Field(
        default=None,
        description="The message's id, if the chat has already assigned one. If the message was published, its thread, "
        "its time, its writer and the message that it replies to are known.",
    )
    turn_id: Id | None = Field(
        default=None, description="The turn that the message opens; by default the message's id."
    )
    look_back: LookBack = Field(
        default="conversation",
        description="`user`: search all of the person's turns for candidates. `conversation`: only the conversation.",
    )
    user_id: Id | None = Field(
        default=None,
        description="The person who wrote the message. By default the writer of the published message; if it was not "
        "published, the caller if the caller has written in the conversation, otherwise the last person who did.",
    )
    reply_to_message_id: Id | None = Field(default=None, description="The id of the message that it replies to.")
    thread_id: Id | None = Field(default=None, description="The thread that contains the message, if any.")
    previous: LastAnswer | None = Field(
        default=None,
        description="The agent's last answer, so that the request need not wait until the answer is indexed.",
    )
    wait_seconds: Annotated[float, Field(ge=0, le=60, strict=True)] | None = Field(
        default=None,
        description="The maximum time to wait until the last answer is indexed, in seconds; by default and at most "
        "`INFERENCE_INDEX_SECONDS`.",
    )
    strategies: Annotated[int, Field(ge=0, le=20)] = Field(
        default=0, description="The maximum number of strategies to list that worked for similar questions."
    )
    intent: Label | None = Field(default=None, description="List only strategies of questions with this intent.")
    agent_id: Id | None = Field(
        default=None, description="The agent whose strategies are listed; by default the agent of the last answer."
    )


class StrategySearch(Body):
    """A search for strategies by intent, person, agent and text, in any combination.

    If a text is given, turns with similar questions are found.
    """

    intent: Label | None = Field(default=None, description="Only turns whose question has this intent.")
    user_id: Id | None = Field(default=None, description="Only turns of this person.")
    text: Annotated[Text, Field(min_length=1)] | None = Field(
        default=None, description="A text; turns with similar questions come first."
    )
    agent_id: Id | None = Field(default=None, description="Only turns that this agent answered.")
    limit: Annotated[int, Field(ge=1, le=100, description="The maximum number of turns.")] = 10
