"""Options of the command `up`. The module is small, because the help of all commands loads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from standalone.state import DEFAULT_STATE
from standalone.terminal import ANSWER_SECONDS, AsJson, State, instant

_EXIT = (
    "Stop when all input is processed, instead of serving. At start, wait up to "
    f"{ANSWER_SECONDS:.0f} s for your own broker or database to answer."
)


@dataclass(frozen=True)
class UpOptions:
    """Options of `agent-feedback up`."""

    replay: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file of chat events, one JSON object per line. May be repeated.", exists=True, dir_okay=False
        ),
    ] = None
    sample: Annotated[bool, typer.Option("--sample", help="Replay the included sample conversations.")] = False
    exit: Annotated[bool, typer.Option("--exit", help=_EXIT)] = False
    as_json: AsJson = False
    port: Annotated[
        int | None, typer.Option(help="The HTTP port; default: 8080, with --exit 0 (a free port).", min=0, max=65535)
    ] = None
    state: State = DEFAULT_STATE
    broker: Annotated[
        str,
        typer.Option(help="The Kafka to use: `memory` (lost at the end of the run), or `HOST:PORT,...` of your own."),
    ] = "memory"
    now: Annotated[
        int | None,
        typer.Option(
            help="Reject event times after this RFC 3339 time; default: the record's time.",
            parser=instant,
            metavar="<str>",
        ),
    ] = None
    outcomes: Annotated[Path | None, typer.Option(help="Write the outcome of every replayed line to this file.")] = None
    database: Annotated[str | None, typer.Option(help="A PostgreSQL address to use instead of the embedded one.")] = (
        None
    )

    @property
    def has_memory_log(self) -> bool:
        """True if the run starts an in-process Kafka."""
        return self.broker == "memory"

    @property
    def http_port(self) -> int:
        """The port to listen on; 0 for any free port."""
        return self.port if self.port is not None else 0 if self.exit else 8080

    @property
    def patience(self) -> float | None:
        """The maximum time in seconds for which the broker or the database may be unresponsive.

        None (no limit) if the run continues to serve requests after the replay.
        """
        return ANSWER_SECONDS if self.exit else None
