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
from standalone.embedded.local_kafka import LocalKafkaError
from standalone.embedded.memory_broker import MemoryBrokerError
from standalone.embedded.postgres import EmbeddedPostgresError
from standalone.one_process.outage_watch import DependencyLost

T = TypeVar("T")
FAILED = 1
NOT_STARTED = 3
INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells report it."""
ANSWER_SECONDS = 20.0
"""Time that a command waits for a broker or database, in seconds; a serving process waits without limit."""
State = Annotated[Path, typer.Option(help="The folder of a run's data, token and lock.", show_default=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Running = Annotated[
    str | None, typer.Option("--broker", help="HOST:PORT,... of a Kafka; default: the run on the state folder.")
]
StoreUrl = Annotated[
    str | None, typer.Option("--store", help="The feedback store's URL; default: FEEDBACK_STORE_URL, or the run's own.")
]


_OBEYED = dict.fromkeys(
    (n for n in (*range(32), *range(127, 160), *range(0xD800, 0xE000)) if n not in (9, 10)),
    "\N{REPLACEMENT CHARACTER}",
)


def harmless(text: str, style: str = "") -> Text:
    """Return untrusted text without control characters, which a terminal would execute, and without rich's markup.

    Lone surrogates are replaced too: a terminal cannot print them.
    """
    return Text(text.translate(_OBEYED), style)


def say(message: str, style: str = "") -> None:
    """Print a line for the user on stderr."""
    Console(stderr=True).print(harmless(message, style), soft_wrap=True)


def sentence(error: Exception) -> str:
    """Return the error's text with exactly one full stop at the end."""
    return f"{str(error).rstrip('.')}."


def show(text: str) -> None:
    """Print a line of the result on stdout."""
    Console().print(harmless(text), soft_wrap=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work`. A failed start exits with code 3, a lost broker or database with code 1; each prints one sentence."""
    raise_again()
    share_one_arena()
    try:
        return uvloop.run(work)
    except (StartError, EmbeddedPostgresError, LocalKafkaError, MemoryBrokerError) as error:
        say(str(error), "red")
        raise typer.Exit(NOT_STARTED) from None
    except DependencyLost as error:
        say(str(error), "red")
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


async def within(seconds: float | None, work: Coroutine[Any, Any, T], address: str) -> T:
    """Return the result of `work`. Raises StartError if `address` takes longer than `seconds` (None: no limit)."""
    try:
        return await deadlines.within(seconds, work)
    except TimeoutError:
        raise StartError(f"Nothing answered at {address} within {seconds:.0f} s: is the address right?") from None


async def once_answered(read: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Call `read` until its server answers, and return its result. Prints the first reason for the wait."""
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
    """Parse an RFC 3339 time that a user typed, to microseconds. Raises typer.BadParameter."""
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text}: {error}") from None
