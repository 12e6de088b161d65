"""The command `up`, which runs all services in one process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from standalone.state import DEFAULT_STATE
from standalone.terminal import ANSWER_SECONDS, INTERRUPTED, AsJson, State, instant, print_json, say
from standalone.terminal import run as run_work

Broker = Annotated[
    str,
    typer.Option(help="The Kafka to use: `memory` (lost at the end of the run), or the `HOST:PORT,...` of your own."),
]
_EXIT = (
    "Stop when all input is processed, instead of serving. At start, wait up to "
    f"{ANSWER_SECONDS:.0f} s for your own broker or database to answer."
)


def up(
    replay: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file of chat events, one JSON object per line. May be repeated.", exists=True, dir_okay=False
        ),
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Replay the included sample conversations.")] = False,
    exit: Annotated[bool, typer.Option("--exit", help=_EXIT)] = False,
    as_json: AsJson = False,
    port: Annotated[
        int | None, typer.Option(help="The HTTP port; default: 8080, with --exit 0 (a free port).", min=0, max=65535)
    ] = None,
    state: State = DEFAULT_STATE,
    broker: Broker = "memory",
    now: Annotated[
        str | None, typer.Option(help="Reject event times after this RFC 3339 time; default: the record's time.")
    ] = None,
    outcomes: Annotated[
        Path | None, typer.Option(help="Write the outcome of every replayed line to this file.")
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="A PostgreSQL address to use instead of the embedded one.")
    ] = None,
) -> None:
    """Run all services in one process, replay files of chat events, and serve the HTTP API and the pages.

    `agent-feedback up --sample` shows the flow with sample conversations. With `--exit --json`, it is a batch job. The
    server listens on this machine only. AGENT_FEEDBACK_TOKEN sets the access token; by default, one is generated and
    kept in the state folder.
    """
    files = replay or []
    judge_at = instant(now)
    # Imported late, because it loads all services, which takes a second.
    from standalone.one_process.up import Options
    from standalone.one_process.up import up as run_up

    if port is None:
        port = 0 if exit else 8080
    token = os.environ.get("AGENT_FEEDBACK_TOKEN")
    options = Options(files, sample, exit, as_json, port, state, token, broker, judge_at, outcomes, database)
    facts = run_work(run_up(options, Console(), (lambda _: None) if as_json else say))
    if facts is None:
        if exit:
            say("Stopped before all input was processed.")
            raise typer.Exit(INTERRUPTED)
        return
    for rejected in facts.get("replayed", {}).get("rejected", [])[:5]:
        say(f"{rejected['file']} line {rejected['line']} was rejected: {rejected['reason']}.")
    if as_json:
        print_json(facts)
