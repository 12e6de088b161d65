"""The command line. Exit codes: 0 done, 1 the work failed, 2 usage error, 3 it could not start."""

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
from standalone.cli import chat, detector, dlq, erase, export, ledger, purge, rebuild, rejudge, services, where
from standalone.cli.command_group import PlainErrorGroup
from standalone.state import DEFAULT_STATE
from standalone.terminal import ANSWER_SECONDS, INTERRUPTED, AsJson, State, instant, print_json, say, show, within
from standalone.terminal import run as run_work

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")
app = typer.Typer(
    cls=PlainErrorGroup,
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
    """Collect feedback on AI agents: what people do with an agent's answers, as one stream of reward events."""


class LogLevel(StrEnum):
    """Levels of log lines."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


Broker = Annotated[
    str,
    typer.Option(
        help="The Kafka to use: `memory` (lost at the end of the run), `local` (on disk, started for you; needs "
        "Java or the extra `local`), or the `HOST:PORT,...` of your own."
    ),
]

_EXIT = (
    "Stop when all input is processed, instead of serving. At start, wait up to "
    f"{ANSWER_SECONDS:.0f} s for your own broker or database to answer."
)


def _checked_files(files: list[Path]) -> list[Path]:
    for file in files:
        if not file.is_file():
            raise typer.BadParameter(f"{file} is not a file." if file.exists() else f"There is no file {file}.")
        if file.stat().st_size == 0:
            say(f"{file} is empty: there is nothing to replay.")
    return files


@app.command()
def up(
    replay: Annotated[
        list[Path] | None, typer.Option(help="A file of chat events, one JSON object per line. May be repeated.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Replay the included sample conversations.")] = False,
    exit: Annotated[bool, typer.Option("--exit", help=_EXIT)] = False,
    as_json: AsJson = False,
    host: Annotated[str, typer.Option(help="The address to listen on; loopback only.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="The HTTP port; default: 8080, with --exit 0 (a free port).", min=0, max=65535)
    ] = None,
    state: State = DEFAULT_STATE,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="AGENT_FEEDBACK_TOKEN",
            help="The access token; default: one is generated and kept in the state folder.",
        ),
    ] = None,
    broker: Broker = "memory",
    now: Annotated[
        str | None, typer.Option(help="Judge 'in the future' against this RFC 3339 time instead of the record's time.")
    ] = None,
    outcomes: Annotated[
        Path | None, typer.Option(help="Write the outcome of every replayed line to this file.")
    ] = None,
    fates: Annotated[Path | None, typer.Option(hidden=True)] = None,  # the name of `outcomes` in 0.1.0
    database: Annotated[
        str | None, typer.Option(help="A PostgreSQL address to use instead of the embedded one.")
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(help="Log at this level and above; default: warnings, and only errors of the Kafka libraries."),
    ] = None,
) -> None:
    """Run all services in this process, replay files into them, and serve.

    `agent-feedback up --sample` shows the flow on sample conversations; `--exit --json` makes it a batch job.
    """
    from standalone.one_process.up import Options
    from standalone.one_process.up import up as run_up

    if host not in ("127.0.0.1", "::1", "localhost"):
        raise typer.BadParameter("Only loopback addresses: the access token alone does not protect a network address.")
    files = _checked_files(replay or [])
    configure_logging(quiet=True) if log_level is None else configure_logging(log_level)
    if port is None:
        port = 0 if exit else 8080
    options = Options(
        files, sample, exit, as_json, host, port, state, token, broker, instant(now), outcomes or fates, database
    )
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


@app.command()
def replay(
    files: Annotated[list[Path], typer.Argument(help="Files of chat events, one JSON object per line.")],
    broker: Annotated[
        str | None, typer.Option(help="HOST:PORT,... of a Kafka; default: the run on the state folder.")
    ] = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Publish files of chat events to a Kafka that services read from.

    Reports each line that is not an event. For each event that becomes a dead letter, reports the field and the rule.
    """
    from standalone.operations.commands import publish

    configure_logging(quiet=True)
    facts = run_work(publish(_checked_files(files), broker, state))
    if as_json:
        print_json(facts)
    else:
        say(f"Published {facts['events']:,} of {facts['lines']:,} lines.")
        for rejected in facts["rejected"][:20]:
            broken = rejected.get("detail")
            why = f"becomes a dead letter: {broken}" if broken else f"was rejected: {rejected['reason']}"
            say(f"  {rejected['file']} line {rejected['line']} {why}.")


@app.command()
def run(
    service: Annotated[str, typer.Argument(help="chat_bridge, feedback, inference or reporting.")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The HTTP port; 0 picks a free one.", min=0, max=65535)] = 8080,
    token: Annotated[
        str | None,
        typer.Option(envvar="AGENT_FEEDBACK_TOKEN", help="The HTTP API's access token, if AUTH_ISSUER is not set."),
    ] = None,
) -> None:
    """Run one service against your Kafka and database, configured by environment variables and the file `.env`.

    `.env.example` lists all of them. The environment overrides the file.
    """
    from servicekit.env_file import read_env_file
    from servicekit.launcher import run_program

    if service not in SERVICES:
        raise typer.BadParameter(f"{service} is not one of {', '.join(SERVICES)}.")
    configure_logging()
    program = importlib.import_module(f"{service}.service").PROGRAM

    async def work() -> None:
        read_env_file()
        await run_program(program, host, port, token or os.environ.get("AGENT_FEEDBACK_TOKEN"))

    run_work(work())


@app.command()
def report(state: State = DEFAULT_STATE, as_json: AsJson = False) -> None:
    """Show a summary of all feedback in the state of a running `up`, or in its state folder.

    Counts people's feedback and the detector's verdicts separately.
    """
    from standalone.operations.commands import report_of
    from standalone.operations.report import print_report

    configure_logging(quiet=True)
    facts = run_work(report_of(state, say))
    if as_json:
        print_json(facts)
    else:
        print_report(Console(), facts)


@app.command()
def topics(
    broker: Annotated[str | None, typer.Option(help="HOST:PORT,... to create or check the topics on.")] = None,
    create: Annotated[bool, typer.Option("--create", help="Create the missing topics.")] = False,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Replicas of each partition; default: 3, or all brokers if fewer.")
    ] = None,
    as_asyncapi: Annotated[bool, typer.Option("--asyncapi", help="Print the AsyncAPI document of the topics.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every topic with its meaning, writers and readers; with --broker, create and check them."""
    from servicekit.log.cluster import cluster_at
    from servicekit.log.topics import ensure_topics
    from standalone.operations.report import print_topics, topic_rows

    configure_logging(quiet=True)
    if as_asyncapi:
        print_json(asyncapi())
        return
    if create and broker is None:
        raise typer.BadParameter("--create needs --broker: the brokers to create the topics on.")
    if broker is not None:

        async def ensure(servers: str) -> None:
            made = ensure_topics(cluster_at(servers), replication=replication, create=create, say=say)
            await within(ANSWER_SECONDS, made, servers)

        run_work(ensure(broker))
        say(f"The topics on {broker} are configured as required.")
    if as_json:
        print_json(topic_rows())
    else:
        print_topics(Console())


chat.register(app)
detector.register(app)
dlq.register(app)
ledger.register(app)
erase.register(app)
export.register(app)
purge.register(app)
rebuild.register(app)
rejudge.register(app)
services.register(app)
where.register(app)
