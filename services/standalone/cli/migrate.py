"""The command `migrate`, which migrates the databases of all services before the services start."""

from __future__ import annotations

from typing import Annotated

import typer

from standalone.terminal import AsJson, print_json, run, say, show


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("migrate")(migrate)


def migrate(
    database: Annotated[
        str | None, typer.Option(help="A PostgreSQL URL for all services; default: the services' settings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Apply the missing migrations of every service. Services also do this when they start.

    Run it before a rollout: if a migration fails, the rollout stops and the previous release keeps serving.
    """
    from standalone.operations.migrate import migrate_all

    made = run(migrate_all(database, say=say))
    if as_json:
        print_json(made)
        return
    for service, names in made.items():
        show(f"{service}: {', '.join(names) if names else 'up to date'}")
