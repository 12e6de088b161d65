"""The command `replay`, which publishes files of chat events to a running platform."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from standalone.cli.event_files import checked_files
from standalone.state import DEFAULT_STATE
from standalone.terminal import AsJson, State, print_json, say
from standalone.terminal import run as run_work


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("replay")(replay)


def replay(
    files: Annotated[list[Path], typer.Argument(help="Files of chat events, one JSON object per line.")],
    broker: Annotated[
        str | None, typer.Option(help="HOST:PORT,... of a Kafka; default: that of the running `up`.")
    ] = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Publish files of chat events to the services' Kafka.

    Lines that are not events are reported. For an event that becomes a dead letter, the field and the violated rule are
    reported as well.
    """
    checked = checked_files(files)
    from standalone.operations.publish import publish

    facts = run_work(publish(checked, broker, state))
    if as_json:
        print_json(facts)
    else:
        say(f"Published {facts['events']:,} of {facts['lines']:,} lines.")
        for rejected in facts["rejected"][:20]:
            broken = rejected.get("detail")
            why = f"becomes a dead letter: {broken}" if broken else f"was rejected: {rejected['reason']}"
            say(f"  {rejected['file']} line {rejected['line']} {why}.")
