"""URL and token for calling a service, from the options of a command or from a running `up`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from servicekit.errors import StartError
from standalone.state import running
from standalone.terminal import NOT_STARTED, say

if TYPE_CHECKING:
    import httpx

Url = Annotated[str | None, typer.Option(help="The service's URL; default: that of the running `up`.")]
Token = Annotated[
    str | None,
    typer.Option(envvar="AGENT_FEEDBACK_TOKEN", help="A token with the scope `admin` to erase, or `export` to export."),
]


def address_of(url: str | None, token: str | None, state: Path) -> tuple[str, str]:
    """Return the URL of the service and an access token.

    Raises:
        typer.BadParameter: A URL is given without a token.
        typer.Exit: No URL is given and nothing is running.
    """
    if url is not None:
        if not token:
            raise typer.BadParameter("--url needs --token, or AGENT_FEEDBACK_TOKEN.")
        return url, token
    try:
        facts = running(state)
    except StartError as error:
        say(f"{error} Or give a URL with --url.", "red")
        raise typer.Exit(NOT_STARTED) from None
    return str(facts["url"]), token or str(facts["token"])


def explain(answer: httpx.Response) -> str:
    """Return a sentence that describes an error response."""
    try:
        why = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        why = "it gave no reason."
    return f"{answer.url.copy_with(path='/', query=None)} rejects the request with {answer.status_code}: {why}"
