"""Conversation that publishes its messages and passes the feedback on earlier answers to the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from emoji import emojize, is_emoji

from agent_feedback_kit import AgentFeedbackError, AsyncClient, Channel, before_planning, events
from agent_feedback_kit.answers import Label, PreviousAnswer, Reaction
from agent_feedback_kit.sessions.record import Source
from agent_feedback_kit.timeline.loading import refresh_on_load
from agent_feedback_kit.timeline.model import Block, Timeline, Turn
from examples.chat.agents import Agent, Answer, ChatLine

_LOOK_SECONDS = 0.05


class NoAnswerYet(Exception):
    """Raised if the user gives feedback before the first answer."""


@dataclass(frozen=True, slots=True)
class ChatExchange:
    """An answer, with the feedback and the advice that the agent received before answering.

    Attributes:
        announcement: Text that told the agent about new feedback, or None.
        advice: Advice for the answer as Markdown, or None.
        published: False if the messages could not be published.
    """

    answer: Answer
    announcement: str | None
    advice: str | None
    published: bool


@dataclass
class Conversation:
    """Conversation between a person and an agent.

    Before each answer, the conversation first waits up to `planning_seconds` for feedback on earlier answers. It then
    waits up to `planning_seconds` for advice.

    The methods that give feedback raise AgentFeedbackError if the platform does not accept it, and NoAnswerYet before
    the first answer.
    """

    client: AsyncClient
    agent: Agent
    user_id: str
    memory_mode: str = "local"
    planning_seconds: float = 1
    thread_id: str | None = None
    id: str = field(default_factory=lambda: f"chat-{uuid4().hex[:12]}")
    timeline: Timeline = field(default_factory=Timeline)
    history: list[ChatLine] = field(default_factory=list)
    emojis: set[str] = field(default_factory=set)
    _turn_id: str | None = None
    _previous: PreviousAnswer | None = None

    @property
    def channel(self) -> Channel:
        return Channel(self.client.project.tenant, self.client.project.project, self.id)

    async def say(self, text: str, reply_to: str | None = None) -> ChatExchange:
        """Send a message to the agent and return its answer.

        Args:
            reply_to: Id of the turn that the message replies to.

        Raises:
            AgentFailed: The agent does not answer. The message is not added to the history.
            ValueError: There is no turn `reply_to`.
        """
        heard = await refresh_on_load(self.client, self.id, self.timeline, "cold", seconds=self.planning_seconds)
        self.timeline = heard.timeline
        turn_id = f"turn-{len(self.timeline.turns) + 1}"
        if reply_to is not None and all(turn.turn_id != reply_to for turn in self.timeline.turns):
            raise ValueError(f"there is no {reply_to}; /timeline lists the turns")
        replied = None if reply_to is None else self._answer_id(reply_to)
        planning = await before_planning(
            self.client,
            self.id,
            text,
            user_id=self.user_id,
            turn_id=turn_id,
            agent_id=self.agent.name,
            previous=self._previous,
            reply_to_message_id=replied,
            thread_id=self.thread_id,
            budget=self.planning_seconds,
        )
        advice = "\n\n".join(part for part in (planning.markdown, heard.announcement) if part) or None
        asked = ChatLine("user", text)
        answer = await self.agent.answer([*self.history, asked], advice)
        self.history += [asked, ChatLine("assistant", answer.text)]
        published = await self._publish(turn_id, text, answer, replied)
        blocks = (Block("user", f"ar:{turn_id}.user", text), Block("assistant", f"ar:{turn_id}.assistant", answer.text))
        self.timeline = replace(self.timeline, turns=(*self.timeline.turns, Turn(turn_id, blocks)))
        self._turn_id = turn_id
        self._previous = self._in_hand(turn_id, text, answer)
        self.emojis.clear()
        return ChatExchange(answer, heard.announcement, planning.markdown, published)

    async def judge(self, reaction: Reaction, text: str | None = None) -> None:
        """Give feedback on the last answer, and wait until the platform returns it."""
        turn_id = self._last_turn()
        await self.client.submit_feedback(self.id, turn_id, reaction, text=text, user_id=self.user_id)
        await self._shown(turn_id, lambda own: (own["reaction"], own["text"]) == (reaction, text))

    async def react(self, emoji: str) -> None:
        """Add an emoji to the last answer.

        Raises:
            ValueError: The text is not an emoji, or the platform rejects the emoji.
        """
        if not is_emoji(emojize(emoji.strip(), language="alias")):
            raise ValueError("it is not an emoji; type one, or its name, such as :heart:")
        message_id = self._answer_id(self._last_turn())
        taken = await events.publish_over_http(
            self.client, events.reaction(self.channel, message_id, emoji, user_id=self.user_id)
        )
        if taken["refused"]:
            raise ValueError(taken["refused"][0]["detail"])
        self.emojis.add(emoji)
        await self._shown(self._last_turn(), lambda own: own["emoji"] is not None)

    async def clear(self) -> None:
        """Retract all feedback on the last answer, including its emojis."""
        turn_id = self._last_turn()
        gone = [
            events.reaction(self.channel, self._answer_id(turn_id), emoji, user_id=self.user_id, action="removed")
            for emoji in sorted(self.emojis)
        ]
        if gone:
            await events.publish_over_http(self.client, *gone)
            self.emojis.clear()
        await self.client.clear_feedback(self.id, turn_id, user_id=self.user_id)
        await self._shown(turn_id, lambda own: own["reaction"] is None)

    async def rate(self, label: Label, source: Source) -> None:
        """Store a rating of the session. `source` is the command that ended it."""
        await self.client.end_session(self.id, label, user_id=self.user_id, memory_mode=self.memory_mode, source=source)

    async def refresh(self) -> str | None:
        """Add the feedback that has arrived since the last call to the timeline.

        Returns:
            The text that tells the agent about this feedback, or None if there is none.
        """
        heard = await refresh_on_load(self.client, self.id, self.timeline, "cold", seconds=self.planning_seconds)
        self.timeline = heard.timeline
        return heard.announcement

    async def _shown(self, turn_id: str, holds: Callable[[Mapping[str, Any]], bool]) -> None:
        """Wait until the platform returns the feedback, so that the agent gets it before its next answer.

        Gives up after `planning_seconds`.
        """
        with suppress(TimeoutError, AgentFeedbackError):
            async with asyncio.timeout(self.planning_seconds):
                while not holds(await self.client.own_feedback(self.id, turn_id, user_id=self.user_id)):
                    await asyncio.sleep(_LOOK_SECONDS)

    async def _publish(self, turn_id: str, text: str, answer: Answer, reply_to: str | None) -> bool:
        said = (
            events.message(
                self.channel,
                f"{self.id}-{turn_id}-q",
                text,
                sender_id=self.user_id,
                turn_id=turn_id,
                thread_id=self.thread_id,
                reply_to_message_id=reply_to,
            ),
            events.message(
                self.channel,
                self._answer_id(turn_id),
                answer.text,
                sender_id=self.agent.name,
                agent_id=self.agent.name,
                turn_id=turn_id,
                thread_id=self.thread_id,
                strategy=answer.strategy,
                model=answer.model,
            ),
        )
        try:
            taken = await events.publish_over_http(self.client, *said)
        except AgentFeedbackError:
            return False
        return not taken["refused"]

    def _in_hand(self, turn_id: str, question: str, answer: Answer) -> PreviousAnswer:
        """Return the answer in the format that an advice request expects."""
        return {
            "message_id": self._answer_id(turn_id),
            "turn_id": turn_id,
            "agent_id": self.agent.name,
            "question": question,
            "content": answer.text,
            "strategy": answer.strategy,
        }

    def _last_turn(self) -> str:
        if self._turn_id is None:
            raise NoAnswerYet
        return self._turn_id

    def _answer_id(self, turn_id: str) -> str:
        return f"{self.id}-{turn_id}-a"
