"""The `keys` commands, which manage API keys of programs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from standalone.cli.account_access import Database, accessed
from standalone.state import DEFAULT_STATE
from standalone.terminal import AsJson, State, harmless, print_json, say, show

keys = typer.Typer(no_args_is_help=True, help="API keys for programs, with scopes, projects and an expiry date.")


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(keys, name="keys")


@keys.command("add")
def add(
    name: Annotated[str, typer.Argument(help="The name of the program that uses the key, for example crm.")],
    scope: Annotated[list[str], typer.Option(help="A scope listed in docs/http.md, such as read. Repeat for several.")],
    project: Annotated[
        list[str], typer.Option(help="A project as TENANT/PROJECT; TENANT/* for all of a tenant. Repeat for several.")
    ],
    days: Annotated[int, typer.Option(help="Days until the key expires.")] = 365,
    database: Database = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it. It cannot be shown again.

    `agent-feedback keys add crm --scope on_behalf --project acme/support`
    """
    key = accessed(lambda tables: tables.add_key(name, scope, project, days), database, state)
    if as_json:
        print_json({"name": name, "key": key})
        return
    say("Keep this key: it is not stored and cannot be shown again.")
    show(key)


@keys.command("list")
def list_keys(database: Database = None, state: State = DEFAULT_STATE, as_json: AsJson = False) -> None:
    """List all keys, without their secrets."""
    from contracts.instants import format_instant
    from standalone.operations.users import EVERYWHERE

    found = accessed(lambda tables: tables.keys.list(EVERYWHERE), database, state)
    rows = [
        {
            "id": str(one.id),
            "name": one.name,
            "scopes": list(one.scopes),
            "projects": one.access.places,
            "expires_at": format_instant(one.expires_at),
            "used_at": None if one.used_at is None else format_instant(one.used_at),
        }
        for one in found
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("id", "name", "scopes", "projects", "expires", "last used", box=None, pad_edge=False)
    for row in rows:
        lists = [harmless(" ".join(row[name] or ())) for name in ("scopes", "projects")]
        table.add_row(str(row["id"]), harmless(str(row["name"])), *lists, _day(row["expires_at"]), _day(row["used_at"]))
    Console().print(table if rows else "There are no keys yet: `agent-feedback keys add NAME --scope S --project T/P`.")


@keys.command("revoke")
def revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The key's id, from `keys list`.")],
    database: Database = None,
    state: State = DEFAULT_STATE,
) -> None:
    """Revoke a key. It stops working within seconds."""
    name = accessed(lambda tables: tables.revoke_key(id_), database, state)
    say(f"The key {name} is revoked.")


def _day(moment: object) -> str:
    return "never" if moment is None else str(moment)[:10]
