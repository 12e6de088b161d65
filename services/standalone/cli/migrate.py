"""The command `migrate`, which creates the tables of all services before the services start."""

from __future__ import annotations

from typing import Annotated

import typer

from standalone.terminal import AsJson, print_json, run, say, show


def migrate(
    database: Annotated[
        str | None, typer.Option(help="A PostgreSQL URL for all services; default: the services' settings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create the tables of every service in an empty database. Services also do this when they start.

    Run it before a rollout: if the tables are of another version, the rollout stops and the running release keeps
    serving.
    """
    from standalone.operations.service_databases import migrate_all

    created = run(migrate_all(database, say=say))
    if as_json:
        print_json(created)
        return
    for service, is_created in created.items():
        show(f"{service}: {'tables created' if is_created else 'up to date'}")
