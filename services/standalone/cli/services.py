"""The command `services`, which describes the services: topics, routes, scheduled tasks, retention and erasure."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text


class ServiceName(StrEnum):
    """Names of the services."""

    chat_bridge = "chat_bridge"
    feedback = "feedback"
    inference = "inference"
    reporting = "reporting"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("services")(services)


def services(
    service: Annotated[ServiceName | None, typer.Argument(help="One service; default: all four.")] = None,
) -> None:
    """Show each service's topics, routes, scheduled tasks, retention periods and erasure.

    No service is started. Retention periods and intervals are the defaults, shown with the setting that changes each.

    `agent-feedback services feedback`
    """
    from standalone.one_process.stack import PROGRAMS
    from standalone.operations.service_tables import sections_of

    console = Console(soft_wrap=True)
    for program in PROGRAMS:
        if service is None or program.name == service:
            console.print(Text(f"{program.name}\n", "bold"))
            for heads, rows in sections_of(program):
                console.print(Text(f"  {', '.join(heads)}", "dim"))
                for row in rows:
                    console.print(Text(f"    {'  '.join(row)}".replace("`", "")))
            console.print()
