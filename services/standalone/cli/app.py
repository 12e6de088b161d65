"""Main module of the command line.

Exit codes: 0 success, 1 the work failed, 2 usage error, 3 the start failed.
"""

from __future__ import annotations

from typing import Annotated

import typer

from standalone.cli import (
    dlq,
    encoder,
    erase,
    evaluate,
    explain,
    export,
    import_feedback,
    keys,
    ledger,
    migrate,
    rejudge,
    run,
    subject_access,
    topics,
    up,
)
from standalone.cli.command_group import PlainErrorGroup
from standalone.terminal import show

app = typer.Typer(
    cls=PlainErrorGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        show(f"agent-feedback {version('agent-feedback')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Collect people's feedback on AI agents' answers, and publish it as one stream of reward events."""


for command in (
    up,
    run,
    topics,
    explain,
    evaluate,
    encoder,
    dlq,
    erase,
    subject_access,
    export,
    import_feedback,
    keys,
    ledger,
    migrate,
    rejudge,
):
    command.register(app)
