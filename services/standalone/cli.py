"""The command line. Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 it could not start."""

from __future__ import annotations

import importlib
import os
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from contracts.asyncapi import asyncapi
from servicekit.logging import configure_logging
from standalone import (
    cli_chat,
    cli_detector,
    cli_erase,
    cli_export,
    cli_log,
    cli_purge,
    cli_rebuild,
    cli_rejudge,
    cli_where,
)
from standalone.state import DEFAULT_STATE
from standalone.terminal import ANSWER_SECONDS, INTERRUPTED, AsJson, State, instant, print_json, say, show, within
from standalone.terminal import run as run_work

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(asked: bool) -> None:
    if asked:
        show(f"agent-feedback {metadata.version('agent-feedback')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Feedback on AI agents: what people do with an agent's answers, as one stream of reward events."""


class LogLevel(StrEnum):
    """Levels of log lines."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


Broker = Annotated[
    str,
    typer.Option(
        help="The log: `memory` (gone when the run ends), `local` (a real Kafka on disk, started for you; needs Java "
        "or the extra `local`), or the `HOST:PORT,...` of yours."
    ),
]

_EXIT = (
    "Stop when all is taken in, instead of serving. A broker or database of yours that does not answer at the start is "
    f"waited for {ANSWER_SECONDS:.0f} s."
)


def _checked_files(files: list[Path]) -> list[Path]:
    for file in files:
        if not file.is_file():
            raise typer.BadParameter(f"{file} is no file." if file.exists() else f"There is no file {file}.")
        if file.stat().st_size == 0:
            say(f"{file} is empty: there is nothing in it to replay.")
    return files


@app.command()
def up(
    replay: Annotated[
        list[Path] | None, typer.Option(help="A file of chat events, one JSON object a line. May be given again.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Replay the sample conversations that come along.")] = False,
    exit: Annotated[bool, typer.Option("--exit", help=_EXIT)] = False,
    as_json: AsJson = False,
    host: Annotated[str, typer.Option(help="The address to listen on; loopback only.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="The HTTP port; else 8080, or with --exit a free one, as 0.", min=0, max=65535)
    ] = None,
    state: State = DEFAULT_STATE,
    token: Annotated[
        str | None, typer.Option(help="The access token; else one is made and kept in the state folder.")
    ] = None,
    broker: Broker = "memory",
    now: Annotated[
        str | None, typer.Option(help="Judge 'in the future' against this RFC 3339 time instead of the log's.")
    ] = None,
    fates: Annotated[Path | None, typer.Option(help="Write what became of every replayed line to this file.")] = None,
    database: Annotated[
        str | None, typer.Option(help="A PostgreSQL address to use instead of the embedded one.")
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(help="Log lines of this level and above; else warnings, and errors of Kafka's libraries."),
    ] = None,
) -> None:
    """Start everything in this process, replay files into it, and serve.

    `agent-feedback up --sample` shows the whole flow on a few conversations; `--exit --json` makes a batch job of it.
    """
    from standalone.up import Options
    from standalone.up import up as run_up

    if host not in ("127.0.0.1", "::1", "localhost"):
        raise typer.BadParameter("Only loopback addresses: the access token alone is no protection on a network.")
    files = _checked_files(replay or [])
    configure_logging(quiet=True) if log_level is None else configure_logging(log_level)
    if port is None:
        port = 0 if exit else 8080
    options = Options(files, sample, exit, as_json, host, port, state, token, broker, instant(now), fates, database)
    facts = run_work(run_up(options, Console(), (lambda _: None) if as_json else say))
    if facts is None:
        if exit:
            say("Stopped before everything was taken in.")
            raise typer.Exit(INTERRUPTED)
        return
    for rejected in facts.get("replayed", {}).get("rejected", [])[:5]:
        say(f"{rejected['file']} line {rejected['line']} was refused: {rejected['reason']}.")
    if as_json:
        print_json(facts)


@app.command()
def replay(
    files: Annotated[list[Path], typer.Argument(help="Files of chat events, one JSON object a line.")],
    broker: Annotated[
        str | None, typer.Option(help="HOST:PORT,... of a Kafka; else the one of the run on the state folder.")
    ] = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Publish files of chat events into a log that services read from.

    Names each line that is no event, and by field and rule each event that becomes a dead letter.
    """
    from standalone.commands import publish

    configure_logging(quiet=True)
    facts = run_work(publish(_checked_files(files), broker, state))
    if as_json:
        print_json(facts)
    else:
        say(f"Published {facts['events']:,} of {facts['lines']:,} lines.")
        for rejected in facts["rejected"][:20]:
            broken = rejected.get("detail")
            why = f"becomes a dead letter: {broken}" if broken else f"was refused: {rejected['reason']}"
            say(f"  {rejected['file']} line {rejected['line']} {why}.")


@app.command()
def run(
    service: Annotated[str, typer.Argument(help="chat_bridge, feedback, inference or reporting.")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The HTTP port; 0 takes a free one.", min=0, max=65535)] = 8080,
    token: Annotated[
        str | None,
        typer.Option(envvar="AGENT_FEEDBACK_TOKEN", help="The HTTP API's access token, where AUTH_ISSUER is not set."),
    ] = None,
) -> None:
    """Run one service against your Kafka and database, set by its environment variables and by the file `.env`.

    `.env.example` shows all of them. A variable that is set goes before the file.
    """
    from servicekit.env_file import read_env_file
    from servicekit.launcher import run_program

    if service not in SERVICES:
        raise typer.BadParameter(f"{service} is none of {', '.join(SERVICES)}.")
    configure_logging()
    program = importlib.import_module(f"{service}.service").PROGRAM

    async def work() -> None:
        read_env_file()
        await run_program(program, host, port, token or os.environ.get("AGENT_FEEDBACK_TOKEN"))

    run_work(work())


@app.command()
def report(state: State = DEFAULT_STATE, as_json: AsJson = False) -> None:
    """Show the feedback of people and of the detector in the whole state, of a running `up` or of its state folder."""
    from standalone.commands import report_of
    from standalone.report import print_report

    configure_logging(quiet=True)
    facts = run_work(report_of(state, say))
    if as_json:
        print_json(facts)
    else:
        print_report(Console(), facts)


@app.command()
def topics(
    broker: Annotated[str | None, typer.Option(help="HOST:PORT,... to make or check the topics on.")] = None,
    create: Annotated[bool, typer.Option("--create", help="Make the missing ones.")] = False,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Copies of each partition; else 3, or as many as there are brokers.")
    ] = None,
    as_asyncapi: Annotated[bool, typer.Option("--asyncapi", help="Print the AsyncAPI document of the topics.")] = False,
    as_json: AsJson = False,
) -> None:
    """Every topic: what it says, who writes it, who reads it; with --broker, make and check them."""
    from servicekit.log.cluster import cluster_at
    from servicekit.log.topics import ensure_topics
    from standalone.report import print_topics, topic_rows

    configure_logging(quiet=True)
    if as_asyncapi:
        print_json(asyncapi())
        return
    if create and broker is None:
        raise typer.BadParameter("--create needs --broker: where are the topics to be made?")
    if broker is not None:

        async def ensure(servers: str) -> None:
            made = ensure_topics(cluster_at(servers), replication=replication, create=create, say=say)
            await within(ANSWER_SECONDS, made, servers)

        run_work(ensure(broker))
        say(f"The topics on {broker} are as they should be.")
    if as_json:
        print_json(topic_rows())
    else:
        print_topics(Console())


cli_chat.register(app)
cli_detector.register(app)
cli_log.register(app)
cli_erase.register(app)
cli_export.register(app)
cli_purge.register(app)
cli_rebuild.register(app)
cli_rejudge.register(app)
cli_where.register(app)
