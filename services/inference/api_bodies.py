"""Request bodies of inference's HTTP routes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from contracts.base import TEXT_LIMIT, Id, Label, Text
from contracts.instants import Instant
from inference.detection import LookBack
from inference.last_answer import LastAnswer


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class GivenAnswer(Body):
    """The agent's last answer; see `last_answer.LastAnswer`."""

    message_id: Id = Field(description="Its id in the chat.")
    content: Text = Field(description="What was answered.")
    turn_id: Id | None = Field(default=None, description="Its turn; else the message's id.")
    agent_id: Id | None = Field(default=None, description="Who answered.")
    strategy: Label | None = Field(default=None, description="How the answer was reached.")
    question: Text | None = Field(default=None, description="What it answers.")

    @property
    def answer(self) -> LastAnswer:
        return LastAnswer(**dict(self))


class NewMessage(Body):
    """A person's message that the agent is about to answer."""

    text: Text = Field(description=f"What was written, at most {TEXT_LIMIT} characters.")
    ts: Instant | None = Field(default=None, description="When, RFC 3339 with an offset; else now.")
    message_id: Id | None = Field(default=None, description="Its id, where the chat has one already.")
    turn_id: Id | None = Field(default=None, description="The turn it opens; else the message's id.")
    look_back: LookBack = Field(
        default="conversation", description="`user`: candidates among all of the person's turns."
    )
    user_id: Id | None = Field(
        default=None,
        description="Who wrote it; else the caller, or the last person who wrote there if the caller never did.",
    )
    reply_to_message_id: Id | None = Field(default=None, description="The message that it replies to.")
    thread_id: Id | None = Field(default=None, description="The thread that it stands in, inside the conversation.")
    previous: GivenAnswer | None = Field(
        default=None, description="The last answer, so that nothing waits for it to be indexed."
    )
    wait_seconds: Annotated[float, Field(ge=0, le=60, strict=True)] | None = Field(
        default=None,
        description="How long to wait at most until the last answer is indexed, in seconds; else, and at most,"
        " `INFERENCE_INDEX_SECONDS`.",
    )
    strategies: Annotated[int, Field(ge=0, le=20)] = Field(
        default=0, description="How many strategies to list that somebody said worked for such questions."
    )
    intent: Label | None = Field(default=None, description="List only strategies of questions taken for this.")
    agent_id: Id | None = Field(
        default=None, description="Whose strategies to list; else those of the agent that answered last."
    )


class StrategySearch(Body):
    """Search for strategies by intent, person, agent, questions similar to `text`, or any combination."""

    intent: Label | None = Field(default=None, description="Only turns whose question was taken for this.")
    user_id: Id | None = Field(default=None, description="Only this person's turns.")
    text: Annotated[Text, Field(min_length=1)] | None = Field(
        default=None, description="Turns whose question is like this one come first."
    )
    agent_id: Id | None = Field(default=None, description="Only turns that this agent answered.")
    limit: Annotated[int, Field(ge=1, le=100, description="How many at most.")] = 10
