"""Code shared by the commands: options, output, and exit codes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from servicekit.allocator import share_one_arena
from servicekit.errors import StartError
from servicekit.interrupts import raise_again
from standalone.errors import DependencyLost

T = TypeVar("T")
FAILED = 1
NOT_STARTED = 3
INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended, as shells report it."""
ANSWER_SECONDS = 20.0
"""Time limit for a command to wait for a broker or database, in seconds. A serving process has no limit."""
State = Annotated[
    Path, typer.Option(help="The folder with the data, access token and lock file of `up`.", show_default=True)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Running = Annotated[
    str | None, typer.Option("--broker", help="HOST:PORT,... of a Kafka; default: that of the running `up`.")
]
StoreUrl = Annotated[
    str | None, typer.Option("--store", help="The feedback store's URL; default: FEEDBACK_STORE_URL, or the run's own.")
]


_OBEYED = dict.fromkeys(
    (n for n in (*range(32), *range(127, 160), *range(0xD800, 0xE000)) if n not in (9, 10)),
    "\N{REPLACEMENT CHARACTER}",
)


def harmless(text: str, style: str = "") -> Text:
    """Return untrusted text without rich's markup and without control characters, which a terminal would execute.

    Lone surrogates are replaced too, because a terminal cannot print them.
    """
    return Text(text.translate(_OBEYED), style)


def say(message: str, style: str = "") -> None:
    """Print a line for the user on stderr."""
    Console(stderr=True).print(harmless(message, style), soft_wrap=True)


def sentence(error: Exception) -> str:
    """Return the error's text, ending with exactly one full stop."""
    return f"{str(error).rstrip('.')}."


def show(text: str) -> None:
    """Print a line of the result on stdout."""
    Console().print(harmless(text), soft_wrap=True)


def run(work: Coroutine[Any, Any, T], log_level: str | None = None) -> T:
    """Run `work` and return its result.

    `log_level` is the lowest level that is logged; by default, warnings, and errors of Kafka. A failed start exits with
    code 3, and a lost broker or database with code 1; both print one sentence.
    """
    # Imported late, because help and usage errors do not need these modules.
    import uvloop

    from servicekit.logging import configure_logging

    configure_logging(quiet=True) if log_level is None else configure_logging(log_level)
    raise_again()
    share_one_arena()
    try:
        return uvloop.run(_interruptible(work))
    except StartError as error:
        say(str(error), "red")
        raise typer.Exit(NOT_STARTED) from None
    except DependencyLost as error:
        say(str(error), "red")
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`. Errors during its cancellation by Ctrl-C, such as a rollback's timeout, are not reported."""
    task = asyncio.current_task()
    try:
        return await work
    except Exception as error:
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from error
        raise


def print_json(facts: Any) -> None:
    sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")


def instant(text: str | None) -> int | None:
    """Parse an RFC 3339 time that a user typed, to microseconds. Raises typer.BadParameter."""
    if text is None:
        return None
    from contracts.instants import parse_instant

    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text}: {error}") from None
