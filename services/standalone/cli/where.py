"""The command `where`, which shows where an event is in the log and what every service did with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from standalone.operations.remote import address_of, explain
from standalone.state import DEFAULT_STATE
from standalone.terminal import FAILED, AsJson, State, harmless, print_json, say

if TYPE_CHECKING:
    from standalone.where import EventTrace, Params

SECONDS = 20.0


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("where")(where)


def where(
    id_: Annotated[str, typer.Argument(metavar="EVENT_ID", help="An `eventId`; with --message a message's id.")],
    tenant: Annotated[str, typer.Option(help="The tenant.")],
    project: Annotated[str, typer.Option(help="The project.")],
    message: Annotated[bool, typer.Option("--message", help="Show all events about the message with this id.")] = False,
    url: Annotated[str | None, typer.Option(help="The services' URL; default: that of the running `up`.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="AGENT_FEEDBACK_TOKEN", help="A token with the scope read.")
    ] = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Show where an event is in the log, and its outcome in every service.

    Possible outcomes: parked, dead-lettered, ignored by a rule, stored as a feedback record, announced, counted. Only
    events of the last days are covered, and their content is never shown.

    `agent-feedback where evt-10 --tenant acme --project support`
    """
    import asyncio

    import httpx

    url, token = address_of(url, token, state)
    try:
        trace = asyncio.run(_ask(url, token, tenant, project, id_, is_message=message))
    except httpx.HTTPStatusError as error:
        say(explain(error.response), "red")
        raise typer.Exit(FAILED) from None
    except httpx.HTTPError as error:
        say(f"{url} does not answer: {type(error).__name__}.", "red")
        raise typer.Exit(FAILED) from None
    if as_json:
        print_json(trace.facts())
    elif trace.found:
        Console().print(_table(trace))
    if not trace.found:
        say("No service knows it: it was not written, is not read yet, or its outcome has expired (7 days).")
        raise typer.Exit(FAILED)


async def _ask(url: str, token: str, tenant: str, project: str, id_: str, *, is_message: bool) -> EventTrace:
    import httpx

    from standalone.where import trace_event

    base = f"/conversations/{quote(tenant, safe='')}/{quote(project, safe='')}/where/"
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, timeout=SECONDS, trust_env=False, headers=headers) as client:

        async def ask(service: str, parameters: Params) -> Any:
            answer = await client.get(base + service, params=list(parameters))
            answer.raise_for_status()
            return answer.json()

        return await trace_event(ask, id_, is_message=is_message)


def _table(trace: EventTrace) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("service", "record", "outcome", "feedback"):
        table.add_column(name, overflow="fold")
    for step in trace.steps():
        table.add_row(*(harmless(step[name]) for name in ("service", "record", "outcome", "feedback")))
    return table
