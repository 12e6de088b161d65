"""Shared code of the commands: options, output and exit codes."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import ProgressColumn
from rich.text import Text

from servicekit.errors import StartError
from servicekit.interrupts import raise_again

T = TypeVar("T")
Options = TypeVar("Options")
FAILED = 1
NOT_STARTED = 3
INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells report it."""
ANSWER_SECONDS = 20.0
"""Time in seconds that a command waits for a broker or database. A serving process waits without limit."""
_OF_A_CONNECTION = (ConnectionError, TimeoutError)
State = Annotated[
    Path, typer.Option(help="The folder with the data, access token and lock file of `up`.", show_default=True)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Running = Annotated[
    str | None, typer.Option("--broker", help="HOST:PORT,... of a Kafka cluster; default: that of the running `up`.")
]
Database = Annotated[
    str | None, typer.Option(help="The services' PostgreSQL URL; default: that of the running `up`, or the settings.")
]
StoreUrl = Annotated[
    str | None, typer.Option("--store", help="The feedback store's URL; default: FEEDBACK_STORE_URL, or the run's own.")
]


def with_options(options: Callable[..., Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Return a decorator for a command that takes all its options as one dataclass, whose fields describe them."""

    def decorate(command: Callable[[Options], None]) -> Callable[..., None]:
        def parsed(*values: Any, **named: Any) -> None:
            command(options(*values, **named))

        signature = inspect.signature(options, eval_str=True)
        parsed.__name__, parsed.__doc__ = command.__name__, command.__doc__
        parsed.__annotations__ = {name: option.annotation for name, option in signature.parameters.items()}
        vars(parsed)["__signature__"] = signature
        return parsed

    return decorate


class DependencyLost(Exception):
    """Raised if the broker or the database of a running command no longer responds."""


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


def say(message: str, style: str = "") -> None:
    """Print a line for the user on stderr."""
    Console(stderr=True).print(harmless(message, style), soft_wrap=True)


def sentence(error: Exception) -> str:
    """Return the text of an error with exactly one full stop at the end."""
    return f"{str(error).rstrip('.')}."


def show(text: str) -> None:
    """Print a line of the command's result on stdout."""
    Console().print(harmless(text), soft_wrap=True)


def run(work: Coroutine[Any, Any, T], log_level: str | None = None) -> T:
    """Run `work` and return its result, or print a known error as one sentence and exit.

    The exit code is 3 after a failed start, and 1 after the loss of a broker or database, such as its restart.

    Args:
        log_level: Lowest level to log. By default, this is warnings, but only errors for the Kafka client.
    """
    # Imported late, because help and usage errors do not need these modules.
    import uvloop

    from servicekit.error_kinds import in_words, is_of_database, is_transient
    from servicekit.logging import configure_logging

    configure_logging(quiet=True) if log_level is None else configure_logging(log_level)
    raise_again()
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
    except Exception as error:
        # Any other error of the operating system, such as a missing file, is not the database's.
        of_connection = isinstance(error, _OF_A_CONNECTION) or is_of_database(error)
        if not is_transient(error) or (isinstance(error, OSError) and not of_connection):
            raise
        say(f"The database or the log stopped answering ({in_words(error)}). Run the same command again.", "red")
        raise typer.Exit(FAILED) from None


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`, hiding errors (such as a rollback's timeout) that occur when Ctrl-C cancels it."""
    task = asyncio.current_task()
    try:
        return await work
    except Exception as error:
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from error
        raise


@contextmanager
def progress_bar(
    work: str, total: int | None, hidden: bool, *counts: ProgressColumn
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar and yield a function that advances it.

    Args:
        total: The value at the end, or None if it is unknown.
        counts: Columns that show the progress in other units than numbers of rows.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), *(counts or [MofNCompleteColumn()]), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=hidden, transient=True) as bar:
        task = bar.add_task(work, total=total)
        yield lambda done: bar.advance(task, done)


def print_json(facts: Any) -> None:
    sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")


def pairs_of(options: Iterable[str], option: str, *, last: bool = False) -> list[tuple[str, str]]:
    """Split values of the repeatable `option` at their first `=`, or at their last one.

    Raises:
        typer.BadParameter: A value has no `=`, or nothing on one side of it.
    """
    pairs = []
    for text in options:
        name, equals, value = text.rpartition("=") if last else text.partition("=")
        if not (equals and name and value):
            raise typer.BadParameter(f"{option} {text}: write NAME=VALUE.")
        pairs.append((name, value))
    return pairs


def instant(text: str | None) -> int | None:
    """Convert an RFC 3339 time typed by a user to microseconds.

    Raises:
        typer.BadParameter: The text is not such a time.
    """
    if text is None:
        return None
    from contracts.instants import parse_instant

    try:
        return parse_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text}: {error}") from None
