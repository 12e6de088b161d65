"""The command `subject-access`, which writes all stored data about a person to a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from standalone.state import DEFAULT_STATE, running_database
from standalone.terminal import FAILED, AsJson, Database, Running, State, StoreUrl, print_json, run, say


def subject_access(
    tenant: Annotated[str, typer.Option(help="The tenant of the user.")],
    user: Annotated[str, typer.Option(help="The id of the user, in all of the tenant's projects.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; it must not exist.")],
    broker: Running = None,
    store: StoreUrl = None,
    database: Database = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Write all data that the services store about a person to a JSON file that only its owner can read.

    `agent-feedback subject-access --tenant acme --user user-42 -o user-42.json` reads the databases, the log and the
    object store directly, so it needs the addresses of these servers.
    """
    from contracts.erasure import Person
    from servicekit.clock import SystemClock
    from standalone.operations.log_access import target_of
    from standalone.operations.subject_access import archive_of

    async def work() -> dict[str, Any]:
        own = running_database(state) if broker is None else None
        return await archive_of(Person(tenant, user), target_of(broker, state, store), database or own, SystemClock())

    if out.exists():
        raise typer.BadParameter(f"The file {out} exists already.", param_hint="--out")
    archive = run(work())
    try:
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            # Lone surrogates stay escaped, because UTF-8 cannot encode them.
            json.dump(archive, file, ensure_ascii=True, indent=2)
    except OSError as error:
        say(f"The file {out} cannot be written: {type(error).__name__}.", "red")
        raise typer.Exit(FAILED) from None
    counts = _counts(archive)
    if as_json:
        print_json({"file": str(out), "rows": counts})
        return
    table = Table("where", "rows", box=None, pad_edge=False)
    for name, count in counts.items():
        table.add_row(name, f"{count:,}")
    Console().print(table if counts else "Nothing is stored about this person.")
    say(f"Written to {out}.")


def _counts(archive: dict[str, Any]) -> dict[str, int]:
    """Return the number of rows per storage location, without locations that have none."""
    places = {**archive["tables"], "feedback store": archive["feedback_store"]}
    places |= {f"log: {topic}": rows for topic, rows in archive["log"].items()}
    places |= {"log: unreadable records": archive["unreadable_records"], "object store": archive["objects"]}
    return {name: len(rows) for name, rows in places.items() if rows}
