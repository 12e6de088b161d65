"""Shared code of the account and key commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from servicekit.errors import RequestRefused
from standalone.state import running
from standalone.terminal import FAILED, run, say

if TYPE_CHECKING:
    from standalone.operations.users import AccessTables

Database = Annotated[
    str | None,
    typer.Option(help="Reporting's PostgreSQL URL; default: that of the running `up`, or the settings."),
]


def accessed(work: Callable[[AccessTables], Awaitable[Any]], database: str | None, state: Path) -> Any:
    """Run `work` and return its result.

    If it rejects the change, the reason is printed and the command exits with code 1.
    """
    from standalone.operations.users import open_access

    own = str(running(state)["database"]) if database is None and (state / "run.json").exists() else None

    async def worked() -> Any:
        async with open_access(database or own, say) as tables:
            return await work(tables)

    try:
        return run(worked())
    except RequestRefused as refusal:
        say(str(refusal), "red")
        raise typer.Exit(FAILED) from None
