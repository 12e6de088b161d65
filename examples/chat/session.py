"""Chat loop, from the first line of input to the end of the session."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, assert_never

from agent_feedback_kit import AgentFeedbackError, NotFound
from agent_feedback_kit.answers import Label
from agent_feedback_kit.sessions.ending import end_session
from agent_feedback_kit.sessions.record import Source
from examples.chat.agents import AgentFailed
from examples.chat.commands import Command, SentMessage, Unknown, read_line
from examples.chat.conversation import Conversation, NoAnswerYet
from examples.chat.terminal import YOU, TerminalScreen, Typed, sentence


class Chat:
    """Chat at a terminal, which ends with `/end`, `/exit`, Ctrl-C on an empty line, or the end of the input."""

    def __init__(self, conversation: Conversation, typed: Typed, screen: TerminalScreen) -> None:
        self._conversation = conversation
        self._typed = typed
        self._screen = screen
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/up": self._up,
            "/down": self._down,
            "/react": self._react,
            "/reply": self._reply,
            "/clear": self._clear,
            "/timeline": self._timeline,
            "/memory": self._memory,
            "/help": self._help,
        }

    async def run(self) -> None:
        """Chat until the person leaves. Errors are shown on the screen instead of being raised."""
        self._screen.note(f"Conversation {self._conversation.id}. Say something, or /help.")
        while (how := await self._round()) is None:
            pass
        await end_session(how, ask=self._ask, say=self._screen.say, record=self._record, summarise=self._summarise)

    async def _round(self) -> Literal["end", "exit"] | None:
        try:
            typed = read_line(await self._typed.line(YOU))
        except (EOFError, KeyboardInterrupt):
            return "exit"
        match typed:
            case None:
                pass
            case SentMessage(text):
                await self._interruptible(self._say(text))
            case Unknown(hint):
                self._screen.trouble(hint)
            case Command("/end"):
                return "end"
            case Command("/exit"):
                return "exit"
            case Command(name, rest):
                await self._interruptible(self._attempt(self._commands[name], rest))
            case _:
                assert_never(typed)
        return None

    async def _interruptible(self, work: Coroutine[Any, Any, None]) -> None:
        """Await `work`, cancelling it on Ctrl-C without ending the chat."""
        task = asyncio.create_task(work)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            self._screen.trouble("Cancelled.")
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            # Removing asyncio's handler leaves the default action. Python's handler makes Ctrl-C raise
            # KeyboardInterrupt.
            signal.signal(signal.SIGINT, signal.default_int_handler)

    async def _say(self, text: str, reply_to: str | None = None) -> None:
        try:
            exchange = await self._conversation.say(text, reply_to)
        except AgentFailed as error:
            self._screen.trouble(f"No answer: {sentence(error)}")
            return
        if exchange.announcement:
            self._screen.panel("feedback received", exchange.announcement)
        if exchange.advice:
            self._screen.panel("advice to the agent", exchange.advice)
        self._screen.answer(self._conversation.agent.name, exchange.answer.text)
        if not exchange.published:
            self._screen.trouble("This exchange was not published: the platform does not accept it now.")

    async def _attempt(self, command: Callable[[str], Awaitable[None]], rest: str) -> None:
        try:
            await command(rest)
        except NoAnswerYet:
            self._screen.trouble("There is no answer to give feedback on yet.")
        except NotFound:
            self._screen.trouble("The platform does not know that answer: it was not published.")
        except AgentFeedbackError as error:
            self._screen.trouble(f"The platform did not accept that: {sentence(error)}")
        except ValueError as error:
            self._screen.trouble(f"That was rejected: {sentence(error)}")

    async def _up(self, _: str) -> None:
        await self._conversation.judge("ok")
        self._screen.note("Noted: good.")

    async def _down(self, why: str) -> None:
        await self._conversation.judge("not_ok", why or None)
        self._screen.note("Noted: wrong.")

    async def _react(self, emoji: str) -> None:
        await self._conversation.react(emoji)
        self._screen.note(f"Noted: {emoji}")

    async def _reply(self, rest: str) -> None:
        turn_id, _, text = rest.partition(" ")
        await self._say(text.strip(), turn_id)

    async def _clear(self, _: str) -> None:
        await self._conversation.clear()
        self._screen.note("Withdrawn.")

    async def _timeline(self, _: str) -> None:
        await self._conversation.refresh()
        self._screen.timeline(self._conversation.timeline)

    async def _memory(self, _: str) -> None:
        status = await self._conversation.client.memory_status(self._conversation.id)
        count = status["session_feedback_count"]
        self._screen.say(f"Memory mode {self._conversation.memory_mode}; session feedback records: {count}.")

    async def _help(self, _: str) -> None:
        self._screen.help()

    async def _ask(self, question: str) -> str:
        return await self._typed.line(f"{question} ")

    async def _record(self, label: Label, source: Source) -> None:
        await self._conversation.rate(label, source)

    async def _summarise(self) -> None:
        await self._conversation.refresh()
        turns = self._conversation.timeline.turns
        count = sum(block.meta is not None and not block.hidden for turn in turns for block in turn.blocks)
        self._screen.note(f"{len(turns)} answers, feedback on {count} of them.")
