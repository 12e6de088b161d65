"""The command `rejudge`, which judges stored messages again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from standalone.state import DEFAULT_STATE, running
from standalone.terminal import AsJson, Running, State, harmless, instant, print_json, progress_bar, run, say

if TYPE_CHECKING:
    from inference.differences import AnnouncedVerdict, Differences
    from standalone.operations.rejudge import Rejudged

QUOTED = 160
"""Number of characters of a message that are printed."""
_KINDS = ("unchanged", "withdrawn", "added", "reversed", "moved")


def rejudge(
    since: Annotated[
        str | None,
        typer.Option(help="Judge messages sent at or after this RFC 3339 time; default: continue the stopped run."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; print the number of changes, and twenty examples.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Judge with this machine's detector even if the services use another one.")
    ] = False,
    database: Annotated[
        str | None,
        typer.Option(help="Inference's PostgreSQL URL; default: that of the running `up`, or the settings."),
    ] = None,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Judge stored messages again with the current detector, and announce changed and withdrawn verdicts.

    The command starts a new epoch, so the new verdicts take precedence over all earlier verdicts, but not over reviews.
    Services may keep running. Ctrl-C stops the command; run it without --since to continue where it stopped.
    """
    from inference.settings import InferenceSettings
    from servicekit.log.cluster import cluster_at
    from servicekit.settings import read_settings
    from standalone.operations.log_access import LogTarget, target_of
    from standalone.operations.rejudge import rejudge_database

    if dry_run and since is None:
        raise typer.BadParameter("--dry-run needs --since.")

    async def work() -> Rejudged:
        own = running(state) if (state / "run.json").exists() else None
        address = database or (str(own["database"]) if own else None)
        settings = read_settings(InferenceSettings, **({"database_url": address} if address else {}))
        settled = broker is None and own is None
        target = LogTarget(cluster_at(settings.broker), "") if settled else target_of(broker, state)
        with ExitStack() as shown:

            def open_progress(total: int, done: int) -> Callable[[int], None]:
                advance = shown.enter_context(progress_bar("Judging", total, as_json))
                advance(done)
                return advance

            return await rejudge_database(
                settings,
                target,
                instant(since),
                dry_run=dry_run,
                force=force,
                say=say,
                open_progress=open_progress,
            )

    done = run(work())
    if as_json:
        print_json(facts_of(done))
    else:
        _print(done)


def facts_of(done: Rejudged) -> dict[str, Any]:
    """Return the result for `--json`, without the texts of messages."""
    from contracts.instants import format_instant

    return {
        "epoch": done.epoch,
        "detector": done.detector,
        "since": format_instant(done.since),
        "judged": done.differences.judged,
        **{kind: done.differences.counts[kind] for kind in _KINDS},
        "examples": [
            {
                **example.key._asdict(),
                "difference": kind,
                "before": _labels(example.before),
                "after": _labels(example.after),
            }
            for kind, example in done.differences.examples()
        ],
    }


def _labels(verdict: AnnouncedVerdict | None) -> dict[str, str] | None:
    return None if verdict is None else {"verdict": verdict.feedback, "turn_id": verdict.turn_id}


def _print(done: Rejudged) -> None:
    differences = done.differences
    if done.epoch is None:
        changed = differences.judged - differences.counts["unchanged"]
        say(f"Detector {done.detector} would change {changed:,} of {differences.judged:,}.")
    else:
        say(f"Detector {done.detector} judged {differences.judged:,} messages in epoch {done.epoch}.")
    for kind in _KINDS:
        say(f"{differences.counts[kind]:8,} {kind}")
    if differences.examples():
        Console().print(_examples(differences, with_text=sys.stdout.isatty()))


def _examples(differences: Differences, *, with_text: bool) -> Table:
    """Build a table of messages whose verdict changed, with their texts only if `with_text` is True."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("difference", "before", "after", "project", "conversation", "message"):
        table.add_column(name, overflow="fold")
    if with_text:
        table.add_column("text", overflow="fold")
    for kind, example in differences.examples():
        labels = (f"{v.feedback} {v.turn_id}" if v else "–" for v in (example.before, example.after))
        project = f"{example.key.tenant}/{example.key.project}"
        cells = (kind, *labels, project, example.key.conversation_id, example.key.message_id)
        table.add_row(*map(harmless, (*cells, example.text[:QUOTED]) if with_text else cells))
    return table
