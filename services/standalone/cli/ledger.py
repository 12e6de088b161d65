"""The `ledger` commands, which compare, repair and reread the topic feedback.created and the tables built from it."""

from __future__ import annotations

import typer

from standalone.cli.rebuild import rebuild
from standalone.cli.republish import republish
from standalone.cli.rewind import rewind
from standalone.cli.verify_ledger import verify_ledger

ledger = typer.Typer(
    help="The ledger feedback.created: compare it with the store, announce again, read the log again, rebuild reports.",
    no_args_is_help=True,
)
ledger.command("verify")(verify_ledger)
ledger.command("republish")(republish)
ledger.command("rewind")(rewind)
ledger.command("rebuild")(rebuild)


def register(app: typer.Typer) -> None:
    """Add the commands of this module to `app`."""
    app.add_typer(ledger, name="ledger")
