"""The `users` commands, which manage the accounts of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from standalone.cli.account_access import Database, accessed
from standalone.state import DEFAULT_STATE, running
from standalone.terminal import AsJson, State, harmless, print_json, say, show

if TYPE_CHECKING:
    from reporting.access.accounts import OperatorAccount

users = typer.Typer(no_args_is_help=True, help="People's accounts, with a role and projects.")
Name = Annotated[str, typer.Argument(help="The account's name, for example an e-mail address.")]
Url = Annotated[
    str | None, typer.Option(help="The URL of the pages in people's browsers; default: that of the running `up`.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(users, name="users")


@users.command("add")
def add(
    name: Name,
    project: Annotated[
        list[str], typer.Option(help="A project as TENANT/PROJECT; TENANT/* for all of a tenant. Repeat for several.")
    ],
    role: Annotated[str, typer.Option(help="reader, reviewer, operator or admin.")] = "reader",
    url: Url = None,
    database: Database = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Add an account, and print the link with which its owner sets a password.

    `agent-feedback users add ann@example.org --role reader --project acme/support`
    """
    base = _base(url, state)
    secret = accessed(lambda tables: tables.add_account(name, role, project), database, state)
    _print_link(base, secret, name, as_json=as_json)


@users.command("link")
def link(
    name: Name, url: Url = None, database: Database = None, state: State = DEFAULT_STATE, as_json: AsJson = False
) -> None:
    """Print a new link for setting an account's password. Earlier links stop working."""
    base = _base(url, state)
    secret = accessed(lambda tables: tables.on_account("link", name, "link"), database, state)
    _print_link(base, secret, name, as_json=as_json)


@users.command("list")
def list_accounts(database: Database = None, state: State = DEFAULT_STATE, as_json: AsJson = False) -> None:
    """List all accounts with their roles and projects."""
    from standalone.operations.users import EVERYWHERE

    found = accessed(lambda tables: tables.accounts.list(EVERYWHERE), database, state)
    if as_json:
        print_json([_facts(one) for one in found])
        return
    table = Table("name", "role", "projects", "state", "sign-in", box=None, pad_edge=False)
    for one in map(_facts, found):
        places = harmless(" ".join(one["projects"]))
        table.add_row(harmless(one["name"]), one["role"], places, one["state"], one["sign_in"])
    Console().print(table if found else "There are no accounts yet: `agent-feedback users add NAME --project T/P`.")


@users.command("disable")
def disable(name: Name, database: Database = None, state: State = DEFAULT_STATE) -> None:
    """Disable an account. Its sessions end within seconds."""
    accessed(lambda tables: tables.on_account("disable", name, "disabled"), database, state)
    say(f"{name} is disabled.")


@users.command("enable")
def enable(name: Name, database: Database = None, state: State = DEFAULT_STATE) -> None:
    """Enable a disabled account."""
    accessed(lambda tables: tables.on_account("enable", name, "enabled"), database, state)
    say(f"{name} is enabled.")


@users.command("remove")
def remove(name: Name, database: Database = None, state: State = DEFAULT_STATE) -> None:
    """Remove an account and its password. Its sessions end within seconds."""
    accessed(lambda tables: tables.on_account("remove", name, "removed"), database, state)
    say(f"{name} is removed.")


def _base(url: str | None, state: Any) -> str:
    """Return the base URL of the pages.

    Raises:
        typer.BadParameter: The URL is invalid, or it is not given and nothing is running.
    """
    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise typer.BadParameter("--url is the address of the pages, for example https://feedback.example.org.")
        return url
    if (state / "run.json").exists():
        return str(running(state)["url"])
    raise typer.BadParameter("Nothing runs on the state folder: give the address of the pages with --url.")


def _print_link(base: str, secret: str, name: str, *, as_json: bool) -> None:
    from contracts.access import password_link
    from reporting.access.accounts import LINK_DAYS

    address = password_link(base, secret)
    if as_json:
        print_json({"name": name, "link": address})
        return
    say(f"Send this link to {name}. It sets the password, once, within {LINK_DAYS} days.")
    show(address)


def _facts(one: OperatorAccount) -> dict[str, Any]:
    sign_in = "password" if one.issuer is None else "identity provider"
    return {
        "name": one.name,
        "role": one.role,
        "projects": one.access.places,
        "state": one.state,
        "sign_in": sign_in,
    }
