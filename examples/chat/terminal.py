"""Terminal input and output of the chat."""

from __future__ import annotations

import asyncio
import sys
from typing import Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from agent_feedback_kit.timeline.model import FEEDBACK_BLOCK, Timeline
from examples.chat.commands import COMMANDS

YOU = "you> "
_OBEYED = dict.fromkeys(
    (n for n in (*range(32), *range(127, 160), *range(0xD800, 0xE000)) if n not in (9, 10)),
    "\N{REPLACEMENT CHARACTER}",
)


def harmless(text: str, style: str = "") -> Text:
    """Convert untrusted text for output, without interpreting Rich's markup.

    Control characters are replaced because a terminal would obey them, and lone surrogates because it cannot print
    them.
    """
    return Text(text.translate(_OBEYED), style)


def sentence(error: Exception) -> str:
    """Return the text of an error with exactly one full stop at the end."""
    return f"{str(error).rstrip('.')}."


class Typed(Protocol):
    async def line(self, question: str) -> str:
        """Return the next line of input.

        Raises:
            KeyboardInterrupt: The user pressed Ctrl-C.
            EOFError: The input has ended.
        """
        ...


class Keyboard:
    """Keyboard input with history, line editing and command completion.

    Ctrl-C clears a non-empty line.
    """

    def __init__(self) -> None:
        keys = KeyBindings()
        keys.add("c-c", filter=Condition(lambda: bool(get_app().current_buffer.text)))(
            lambda pressed: pressed.current_buffer.reset()
        )
        words = [name.partition(" [")[0].removesuffix(" EMOJI").removesuffix(" TURN TEXT") for name in COMMANDS]
        self._session: PromptSession[str] = PromptSession(
            completer=WordCompleter(words, sentence=True), complete_while_typing=False, key_bindings=keys
        )

    async def line(self, question: str) -> str:
        return str(await self._session.prompt_async(question))


class Pipe:
    """Input from a file or pipe on standard input, without a prompt."""

    async def line(self, question: str) -> str:
        text = str(await asyncio.to_thread(sys.stdin.readline))
        if not text:
            raise EOFError
        return text.rstrip("\n")


class TerminalScreen:
    """Screen of the chat. It escapes text from others, which could otherwise control the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str, style: str = "") -> None:
        self._console.print(harmless(text, style), soft_wrap=True)

    def note(self, text: str) -> None:
        self.say(text, "dim")

    def trouble(self, text: str) -> None:
        self.say(text, "yellow")

    def answer(self, name: str, text: str) -> None:
        self._console.print(Text.assemble((f"{name}> ", "bold cyan"), harmless(text)), soft_wrap=True)

    def panel(self, title: str, text: str) -> None:
        self._console.print(Panel(harmless(text.strip()), title=title, title_align="left", border_style="dim"))

    def help(self) -> None:
        width = max(map(len, COMMANDS))
        for name, meaning in COMMANDS.items():
            self._console.print(Text.assemble((f"  {name:<{width}}", "bold"), f"  {meaning}"), soft_wrap=True)

    def timeline(self, timeline: Timeline) -> None:
        if not timeline.turns:
            self.note("There are no messages yet.")
        for turn in timeline.turns:
            self.say(turn.turn_id, "bold")
            for block in turn.blocks:
                if not block.hidden:
                    said = block.text if block.type == FEEDBACK_BLOCK else f"{block.type}: {block.text}"
                    self.say("\n".join(f"  {line}" for line in said.splitlines()))
