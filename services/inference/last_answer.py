"""The agent's last answer as given by the caller of `detect`, in case it is not indexed yet. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Label, Text
from contracts.message_fields import TurnKey
from detector.model import Message
from inference.model import ConversationKey
from inference.turns.rules import Turn

SOME_AGENT = "agent"
"""Agent id for an answer whose agent the caller did not name."""


class LastAnswer(BaseModel):
    """The agent's last answer, which a caller sends along in case it has not been indexed yet."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    message_id: Id = Field(description="The answer's message id in the chat.")
    content: Text = Field(description="The text of the answer.")
    turn_id: Id | None = Field(default=None, description="The answer's turn; by default the message's id.")
    agent_id: Id | None = Field(default=None, description="The agent that gave the answer.")
    strategy: Label | None = Field(default=None, description="The agent's strategy for the answer.")
    question: Text | None = Field(default=None, description="The question that was answered.")

    @property
    def turn(self) -> str:
        return self.turn_id or self.message_id

    def added_to(self, before: Sequence[Message], message: Message) -> tuple[Message, ...]:
        """Append the answer and its question to the messages in `before`, unless they are already there."""
        if any(earlier.message_id == self.message_id for earlier in before):
            return tuple(before)
        agent = self.agent_id or SOME_AGENT
        thread = message.thread_id
        answer = Message(
            self.message_id, self.turn, agent, "agent", agent, self.content, message.at - 1, thread_id=thread
        )
        if self.question is None or any(row.role == "human" and row.turn_id == self.turn for row in before):
            return (*before, answer)
        name, author = f"question of {self.message_id}", message.sender_id
        question = Message(name, self.turn, author, "human", None, self.question, message.at - 2, thread_id=thread)
        return (*before, question, answer)

    def first_of(self, latest: Sequence[Turn], where: ConversationKey, message: Message) -> list[Turn]:
        """Prepend the answer's turn to `latest` (newest first), unless it is already there."""
        key = TurnKey(*where, self.turn)
        if any(turn.key == key or turn.agent_message_id == self.message_id for turn in latest):
            return list(latest)
        turn = Turn(
            key,
            user_id=message.sender_id,
            user_text=self.question,
            agent_id=self.agent_id or SOME_AGENT,
            agent_message_id=self.message_id,
            assistant_text=self.content,
            at=message.at - 1,
            strategy=self.strategy,
        )
        return [turn, *latest]
