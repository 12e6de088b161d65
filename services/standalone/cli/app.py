"""Main module of the command line.

Exit codes: 0 success, 1 the work failed, 2 usage error, 3 the start failed.
"""

from __future__ import annotations

from typing import Annotated

import typer

from standalone.cli.command_group import PlainErrorGroup
from standalone.cli.detector import encoder, explain
from standalone.cli.dlq import dlq
from standalone.cli.erase import erase
from standalone.cli.evaluate import evaluate
from standalone.cli.export import export
from standalone.cli.import_feedback import import_feedback
from standalone.cli.keys import keys
from standalone.cli.ledger import ledger
from standalone.cli.migrate import migrate
from standalone.cli.rejudge import rejudge
from standalone.cli.run import run
from standalone.cli.subject_access import subject_access
from standalone.cli.topics import topics
from standalone.cli.up import up
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


for command in (up, run, topics, explain, evaluate, encoder, erase, subject_access, export, migrate, rejudge):
    app.command()(command)
app.command("import")(import_feedback)
for group in (dlq, keys, ledger):
    app.add_typer(group)
