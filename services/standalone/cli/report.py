"""The command `report`, which shows a summary of the feedback of a run."""

from __future__ import annotations

import typer
from rich.console import Console

from standalone.state import DEFAULT_STATE
from standalone.terminal import AsJson, State, print_json, say
from standalone.terminal import run as run_work


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("report")(report)


def report(state: State = DEFAULT_STATE, as_json: AsJson = False) -> None:
    """Show a summary of all feedback of a running `up`, or of an earlier run's state folder.

    People's feedback and the detector's verdicts are counted separately.
    """
    from standalone.operations.report import print_report, report_of

    facts = run_work(report_of(state, say))
    if as_json:
        print_json(facts)
    else:
        print_report(Console(), facts)
