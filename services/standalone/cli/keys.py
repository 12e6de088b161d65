"""The `keys` commands, which manage API keys of colleagues and programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from servicekit.errors import RequestRefused
from standalone.state import DEFAULT_STATE, running_database
from standalone.terminal import FAILED, AsJson, Database, State, harmless, print_json, run, say, show

if TYPE_CHECKING:
    from reporting.access.keys import ApiKeys
    from servicekit.web.auth import Caller

keys = typer.Typer(
    name="keys",
    no_args_is_help=True,
    help="API keys of colleagues and programs, with scopes, projects and an expiry date.",
)


@keys.command("add")
def add(
    name: Annotated[str, typer.Argument(help="The colleague or program that uses the key: ann@example.org, crm.")],
    scope: Annotated[list[str], typer.Option(help="A scope of docs/access.md, such as read. Repeat for several.")],
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
    key = accessed(lambda keys, caller: keys.add(name, scope, project, str(days), caller), database, state)
    if as_json:
        print_json({"name": key.name, "key": key.secret})
        return
    say("Keep this key: it is not stored and cannot be shown again.")
    show(key.secret)


@keys.command("list")
def list_keys(database: Database = None, state: State = DEFAULT_STATE, as_json: AsJson = False) -> None:
    """List all keys, without their secrets."""
    from contracts.instants import format_instant

    rows = [
        {
            "id": str(key["id"]),
            "name": key["name"],
            "scopes": key["scopes"],
            "projects": key["projects"],
            "expires_at": None if key["is_revoked"] else format_instant(key["expires_at"]),
            "used_at": None if key["used_at"] is None else format_instant(key["used_at"]),
        }
        for key in accessed(lambda keys, caller: keys.list(caller), database, state)
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("id", "name", "scopes", "projects", "expires", "last used", box=None, pad_edge=False)
    for row in rows:
        lists = [harmless(" ".join(row[name] or ())) for name in ("scopes", "projects")]
        table.add_row(
            str(row["id"]),
            harmless(str(row["name"])),
            *lists,
            _day(row["expires_at"], "revoked"),
            _day(row["used_at"], "never"),
        )
    Console().print(table if rows else "There are no keys yet: `agent-feedback keys add NAME --scope S --project T/P`.")


@keys.command("revoke")
def revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The key's id, from `keys list`.")],
    database: Database = None,
    state: State = DEFAULT_STATE,
) -> None:
    """Revoke a key. It stops working within seconds."""
    name = accessed(lambda keys, caller: keys.revoke(id_, caller), database, state)
    say(f"The key {name} is revoked.")


def accessed(work: Callable[[ApiKeys, Caller], Awaitable[Any]], database: str | None, state: Path) -> Any:
    """Run `work` and return its result.

    If it rejects the change, the reason is printed and the command exits with code 1.
    """
    from standalone.operations.keys import open_keys, operator

    own = running_database(state) if database is None else None

    async def worked() -> Any:
        async with open_keys(database or own, say) as stored:
            return await work(stored, operator())

    try:
        return run(worked())
    except RequestRefused as refusal:
        say(str(refusal), "red")
        raise typer.Exit(FAILED) from None


def _day(moment: object, missing: str) -> str:
    return missing if moment is None else str(moment)[:10]
