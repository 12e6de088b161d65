"""Shared parts of the commands: common options, output, and exit codes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import uvloop
from rich.console import Console
from rich.text import Text

from agent_feedback_kit import deadlines
from contracts.instants import parse_instant
from servicekit.allocator import share_one_arena
from servicekit.error_kinds import in_words, is_transient
from servicekit.errors import StartError
from servicekit.interrupts import raise_again
from standalone.broker_watch import BrokerLost
from standalone.embedded.local_kafka import LocalKafkaError
from standalone.embedded.memory_broker import MemoryBrokerError
from standalone.embedded.postgres import EmbeddedPostgresError

T = TypeVar("T")
FAILED = 1
NOT_STARTED = 3
INTERRUPTED = 130
"""As a shell says of a program that Ctrl-C ended."""
ANSWER_SECONDS = 20.0
"""How long a command waits for a broker or database; what serves waits without end."""
State = Annotated[Path, typer.Option(help="Where a run keeps its data, token and lock.", show_default=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Running = Annotated[
    str | None, typer.Option("--broker", help="HOST:PORT,... of a Kafka; else the one of the run on the state folder.")
]


_OBEYED = dict.fromkeys(
    (n for n in (*range(32), *range(127, 160), *range(0xD800, 0xE000)) if n not in (9, 10)),
    "\N{REPLACEMENT CHARACTER}",
)


def harmless(text: str, style: str = "") -> Text:
    """Words from outside as a terminal may show them: it would obey control characters, and rich its markup.

    Halves of UTF-16 characters go too: no terminal takes them.
    """
    return Text(text.translate(_OBEYED), style)


def say(message: str, style: str = "") -> None:
    """A line for the person at the terminal, on stderr."""
    Console(stderr=True).print(harmless(message, style), soft_wrap=True)


def sentence(error: Exception) -> str:
    """Return the error's text with exactly one full stop at the end."""
    return f"{str(error).rstrip('.')}."


def show(text: str) -> None:
    """A line of what was asked for, on stdout."""
    Console().print(harmless(text), soft_wrap=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. A failed start exits with code 3 and a lost broker with code 1, each with one sentence."""
    raise_again()
    share_one_arena()
    try:
        return uvloop.run(work)
    except (StartError, EmbeddedPostgresError, LocalKafkaError, MemoryBrokerError) as error:
        say(str(error), "red")
        raise typer.Exit(NOT_STARTED) from None
    except BrokerLost as error:
        say(str(error), "red")
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


async def within(seconds: float | None, work: Coroutine[Any, Any, T], address: str) -> T:
    """The result of `work`. Raises StartError where it takes longer (None: never): nothing answers at `address`."""
    try:
        return await deadlines.within(seconds, work)
    except TimeoutError:
        raise StartError(f"Nothing answered at {address} within {seconds:.0f} s: is the address right?") from None


async def once_answered(read: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Call `read` until its server responds, and return its result; print the reason for the wait."""
    told = False
    while True:
        try:
            return await read()
        except Exception as error:
            if not is_transient(error):
                raise
            if not told:
                say(f"Waiting: {in_words(error)} ...")
            told = True
        await asyncio.sleep(1)


def print_json(facts: Any) -> None:
    sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")


def instant(text: str | None) -> int | None:
    """Microseconds of an RFC 3339 time that a user typed. Raises typer.BadParameter."""
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text}: {error}") from None
