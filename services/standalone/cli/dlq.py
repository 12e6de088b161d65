"""The `dlq` commands, which list and replay dead letters."""

from __future__ import annotations

import base64
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from chat_bridge.dead_letter_reasons import REASONS as BRIDGE_REASONS
from servicekit.log.dead_letter_reasons import REASONS, meaning_of
from standalone.state import DEFAULT_STATE
from standalone.terminal import (
    FAILED,
    AsJson,
    Running,
    State,
    harmless,
    instant,
    print_json,
    progress_bar,
    run,
    say,
    show,
)

if TYPE_CHECKING:
    from standalone.operations.dlq import Letter

SHOWN = 50
"""Maximum number of dead letters in a list. Older ones are left out."""
UNFOLDED = 1_000
"""Width of the table in columns if the output is not a terminal. It keeps each dead letter on one line."""
MEANINGS = {**REASONS, **BRIDGE_REASONS}
"""Explanation and remedy for each dead-letter reason."""
Reason = Annotated[str | None, typer.Option(help="Only dead letters with this reason, such as invalid_json.")]
Topic = Annotated[str | None, typer.Option(help="Only dead letters of this topic.")]
Since = Annotated[str | None, typer.Option(help="Only dead letters written at or after this RFC 3339 time.")]
Until = Annotated[str | None, typer.Option(help="Only dead letters written before this RFC 3339 time.")]
dlq = typer.Typer(
    name="dlq", help="Dead letters: records that could not be processed, with the reason.", no_args_is_help=True
)


@dlq.command("list")
def list_letters(
    letter: Annotated[
        str | None,
        typer.Argument(help="Only this dead letter, TOPIC.dlq:PARTITION:OFFSET as listed, with its record's content."),
    ] = None,
    reason: Reason = None,
    topic: Topic = None,
    since: Since = None,
    until: Until = None,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """List the dead letters, newest last, and count them by reason.

    `agent-feedback dlq list chat.message.ingested.dlq:0:36` shows one dead letter with the content of its record, which
    may include a person's message. The list never shows contents.
    """
    from standalone.operations.dlq import Filter, facts_of, letters
    from standalone.operations.log_access import target_of

    wanted = Filter(reason, topic, instant(since), instant(until))

    async def read_one(name: str) -> Letter | None:
        only = Filter(topic=name.rsplit(":", 2)[0])
        every = letters(target_of(broker, state).bootstrap, only)
        return await anext((each async for each in every if str(each.position) == name), None)

    if letter is not None:
        _show(run(read_one(letter)), letter, as_json)
        return

    async def read() -> list[tuple[int, tuple[str, int, int], dict[str, Any]]]:
        """Read the dead letters without their contents, which may not fit in memory."""
        bootstrap = target_of(broker, state).bootstrap
        return [(each.written_at, each.position, facts_of(each)) async for each in letters(bootstrap, wanted)]

    listed = [facts for _, _, facts in sorted(run(read()))]
    reasons = Counter(facts["reason"] for facts in listed)
    if as_json:
        print_json({"count": len(listed), "reasons": dict(reasons), "letters": listed})
        return
    Console(width=None if sys.stdout.isatty() else UNFOLDED).print(letters_table(listed))
    if len(listed) > SHOWN:
        say(f"The newest {SHOWN} of {len(listed):,}; --json gives all.")
    for name, count in reasons.most_common():
        meaning = meaning_of(name, MEANINGS)
        say(f"{count:8,} {name}{f': {meaning}' if meaning else ''}")


def letters_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Build a table of the newest dead letters.

    Their names do not wrap, so they can be copied.
    """
    count = f"{len(rows):,} dead letter{'' if len(rows) == 1 else 's'}"
    table = Table(title=count, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in ("letter", "written", "reason"):
        table.add_column(name, no_wrap=True)
    table.add_column("detail", overflow="fold")
    for facts in rows[-SHOWN:]:
        written = facts["written_at"][5:16].replace("T", " ")
        table.add_row(*(harmless(cell) for cell in (facts["letter"], written, facts["reason"], facts["detail"])))
    return table


def _show(letter: Letter | None, name: str, as_json: bool) -> None:
    """Print a dead letter with the content of its record."""
    if letter is None:
        say(f"There is no dead letter {name}.")
        raise typer.Exit(FAILED)
    from standalone.operations.dlq import facts_of

    facts: dict[str, Any] = facts_of(letter)
    facts["key"] = None if letter.key is None else letter.key.decode("utf-8", "replace")
    facts["headers"] = {key: (value or b"").decode("utf-8", "replace") for key, value in letter.headers}
    if as_json:
        print_json(facts | {"value_base64": None if letter.value is None else base64.b64encode(letter.value).decode()})
        return
    for key, value in facts.items():
        show(f"{key}: {value}")
    if meaning := meaning_of(letter.reason, MEANINGS):
        show(f"means: {meaning}")
    if letter.value is not None:
        show(letter.value.decode("utf-8", "replace"))


@dlq.command("replay")
def replay_letters(
    reason: Reason = None,
    topic: Topic = None,
    since: Since = None,
    until: Until = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation if no filter is given.")] = False,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Send dead letters to their original topics again, with the original bytes, key and cause.

    It is safe to repeat the command, because consumers ignore records they have already processed. A record that fails
    again becomes a dead letter again.
    """
    from standalone.operations.dlq import Filter, letters, replay
    from standalone.operations.log_access import target_of, writing_to

    wanted = Filter(reason, topic, instant(since), instant(until))
    if wanted == Filter() and not yes:
        if as_json or not sys.stdin.isatty():
            raise typer.BadParameter("Without a filter this sends every dead letter again: confirm with --yes.")
        typer.confirm("Send every dead letter of every topic again?", abort=True)

    async def work() -> dict[str, int]:
        target = target_of(broker, state)
        async with writing_to(target) as producer:
            with progress_bar("Sending", None, as_json) as advance:
                return await replay(letters(target.bootstrap, wanted), producer, advance)

    facts = run(work())
    if as_json:
        print_json(facts)
    else:
        say(
            f"Sent {facts['sent']:,} of {facts['letters']:,} letters; {facts['repeats']:,} were duplicates, "
            f"{facts['empty']:,} contained no record, {facts['too_large']:,} are too large for their topic."
        )
