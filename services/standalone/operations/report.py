"""Report on the feedback in a state folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from servicekit.errors import StartError
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.one_process.summary import FEEDBACK_TYPES
from standalone.state import StateFolder, running


async def report_of(state: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the report of a running `up`, or read it from the database of an earlier run.

    Raises:
        StartError: There is no state, or the running `up` does not return a report.
    """
    if (state / "run.json").exists():
        facts = running(state)
        try:
            async with httpx.AsyncClient(base_url=facts["url"], timeout=10, trust_env=False) as client:
                answer = await client.get("/report", headers={"Authorization": f"Bearer {facts['token']}"})
                answer.raise_for_status()
                report: dict[str, Any] = answer.json()
                return report
        except httpx.ConnectError:
            say("The last run did not end cleanly; reading the state it left.")
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            why = f"see {facts['url']}health/ready"
            raise StartError(f"The run at {facts['url']} has no report now (status {status}): {why}.") from None
        except httpx.HTTPError as error:
            raise StartError(f"The run at {facts['url']} does not answer: {type(error).__name__}.") from None
    if not (state / "lock").exists():
        raise StartError(f"There is no state in {state.absolute()}: start with `agent-feedback up --sample`.")
    from standalone.operations.stored_report import report_from_database

    with StateFolder(state) as folder:
        async with EmbeddedPostgres(folder.path / "postgres", say) as postgres:
            return await report_from_database(postgres.url)


def print_report(console: Console, facts: dict[str, Any]) -> None:
    report, stored = facts["report"], facts["feedback"]
    table = Table(title="Verdicts on agents' turns", title_justify="left")
    for name in ("talks", "verdicts", "by people", "inferred", "reviewed", "ok", "not ok", "neutral", "share ok"):
        table.add_column(name, justify="right")
    total = report["total"]
    share = f"{report['ok'] / total:.0%}" if total else "-"
    numbers = [
        report[name] for name in ("conversations", "total", "user", "machine", "reviewer", "ok", "not_ok", "neutral")
    ]
    table.add_row(*(f"{number:,}" for number in numbers), share)
    console.print(table)
    kinds = ", ".join(f"{stored['by_type'][name]:,} {name}" for name in FEEDBACK_TYPES)
    console.print(f"{stored['stored']:,} records stored ({stored['cleared']:,} cleared): {kinds}.")
