"""The command `purge`, which deletes or counts the rows that are past their retention period."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from standalone.state import DEFAULT_STATE, running
from standalone.terminal import AsJson, State, print_json, run, say


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("purge")(purge)


def purge(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be deleted.")] = False,
    database: Annotated[
        str | None,
        typer.Option(help="A PostgreSQL URL for all services; default: that of the running `up`, or the settings."),
    ] = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Delete rows past their retention period (the settings *_DAYS). Every service also does this once an hour.

    `agent-feedback purge --dry-run` only prints the number of rows per table.
    """
    from standalone.operations.purge import purge as purge_tables

    async def work() -> dict[str, dict[str, int]]:
        own = str(running(state)["database"]) if (state / "run.json").exists() else None
        return await purge_tables(database or own, dry_run=dry_run, say=say)

    found = run(work())
    if as_json:
        print_json(found)
        return
    table = Table("service", "table", "to delete" if dry_run else "deleted", box=None, pad_edge=False)
    for service, rows in found.items():
        for name, count in rows.items():
            table.add_row(service, name, f"{count:,}")
    Console().print(table if table.row_count else "Nothing is older than its retention.")
