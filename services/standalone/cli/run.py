"""The command `run`, which runs a single service."""

from __future__ import annotations

import importlib
import os
from typing import Annotated

import typer

from standalone.terminal import run as run_work

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")


def run(
    service: Annotated[str, typer.Argument(help="chat_bridge, feedback, inference or reporting.")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The HTTP port; 0 selects a free port.", min=0, max=65535)] = 8080,
    token: Annotated[
        str | None,
        typer.Option(envvar="AGENT_FEEDBACK_TOKEN", help="The HTTP API's access token, if AUTH_ISSUERS is not set."),
    ] = None,
) -> None:
    """Run one service with your Kafka and database, configured by environment variables and the file `.env`.

    `.env.example` lists all variables. Environment variables override the file.
    """
    if service not in SERVICES:
        raise typer.BadParameter(f"{service} is not one of {', '.join(SERVICES)}.")
    from servicekit.launcher import run_program
    from servicekit.settings import read_env_file

    program = importlib.import_module(f"{service}.service").PROGRAM

    async def work() -> None:
        read_env_file()
        await run_program(program, host, port, token or os.environ.get("AGENT_FEEDBACK_TOKEN"))

    run_work(work(), "INFO")
