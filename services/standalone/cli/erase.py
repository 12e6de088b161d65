"""The command `erase`, which erases a person's data and waits until the services have confirmed it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from standalone.operations.remote import Token, Url, address_of, explain
from standalone.state import DEFAULT_STATE
from standalone.terminal import FAILED, AsJson, State, harmless, print_json, say, with_options

if TYPE_CHECKING:
    import httpx

_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class _Options:
    tenant: Annotated[str, typer.Option(help="The tenant of the user.")]
    user: Annotated[str | None, typer.Option(help="The id of the user to erase, in all of the tenant's projects.")] = (
        None
    )
    training: Annotated[
        bool | None,
        typer.Option("--training/--no-training", help="Erase nothing; allow or forbid training on the user's data."),
    ] = None
    status: Annotated[str | None, typer.Option(help="Show the status of this erasure request; erase nothing.")] = None
    url: Url = None
    token: Token = None
    wait: Annotated[float, typer.Option(help="Seconds to wait for all services to confirm.", min=0)] = 30
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False
    state: State = DEFAULT_STATE
    as_json: AsJson = False


@with_options(_Options)
def erase(options: _Options) -> None:
    """Erase all of a person's data in every service. The exit code is 1 until every service has confirmed.

    `agent-feedback erase --tenant acme --user user-42` asks for confirmation, then waits until all services have
    confirmed the erasure.
    """
    import httpx

    if (options.user is None) == (options.status is None):
        raise typer.BadParameter("Give either --user (to erase a user) or --status (to follow a request).")
    url, token = address_of(options.url, options.token, options.state)
    tenant, user = options.tenant, options.user
    headers = {"Authorization": f"Bearer {token}"}
    if options.training is not None:
        if user is None:
            raise typer.BadParameter("--training and --no-training need --user.")
        with httpx.Client(base_url=url, headers=headers, timeout=10) as http:
            path = f"/tenants/{tenant}/users/{segment_of(user)}/training"
            _asked(http, "PUT", path, json={"allowed": options.training})
        say(f"Training on the data of {user} is now {'allowed' if options.training else 'forbidden'}.")
        return
    if user is not None and not options.yes:
        typer.confirm(
            f"Erase everything that {user} has said in {tenant}? This cannot be undone.", abort=True, err=True
        )
    with httpx.Client(base_url=url, headers=headers, timeout=10) as http:
        request = options.status or str(
            _asked(http, "DELETE", f"/tenants/{tenant}/users/{segment_of(user or '')}")["request_id"]
        )
        progress = _followed(http, f"/tenants/{tenant}/erasures/{quote(request, safe='')}", request, options.wait)
    if options.as_json:
        print_json(progress)
    else:
        _print(progress)
    if not progress["complete"]:
        raise typer.Exit(FAILED)


def _followed(http: httpx.Client, path: str, request: str, wait: float) -> dict[str, Any]:
    """Wait up to `wait` seconds until all services have confirmed the request, and return its last status."""
    until = time.monotonic() + wait
    while True:
        progress = _asked(http, "GET", path, missing_is_fine=True)
        if progress.get("complete") or time.monotonic() >= until:
            nothing = {"request_id": request, "complete": False, "receipts": [], "missing": ["feedback"]}
            return progress or nothing
        time.sleep(_BETWEEN_LOOKS)


def _asked(
    http: httpx.Client, method: str, path: str, *, missing_is_fine: bool = False, json: Any = None
) -> dict[str, Any]:
    import httpx

    try:
        answer = http.request(method, path, json=json)
    except httpx.HTTPError as error:
        say(f"{http.base_url} does not answer ({type(error).__name__}).", "red")
        raise typer.Exit(3) from None
    if answer.status_code == 404 and missing_is_fine:
        return {}
    if answer.is_error:
        say(explain(answer), "red")
        raise typer.Exit(FAILED)
    body: dict[str, Any] = answer.json() or {}
    return body


def _print(progress: dict[str, Any]) -> None:
    table = Table("service", "confirmed", "rows removed", box=None, pad_edge=False)
    for receipt in progress["receipts"]:
        table.add_row(receipt["service"], receipt["confirmed_at"], f"{receipt['removed']:,}")
    for service in progress["missing"]:
        table.add_row(service, harmless("not yet", "yellow"), "")
    console = Console()
    console.print(f"Request {progress['request_id']}: {'complete' if progress['complete'] else 'not complete yet'}.")
    console.print(table)


def segment_of(id_: str) -> str:
    """Encode an id as a segment of a URL path.

    The ids `.` and `..` are percent-encoded, because the HTTP client would resolve them as relative paths.
    """
    return "%2E" * len(id_) if id_ in (".", "..") else quote(id_, safe="")
