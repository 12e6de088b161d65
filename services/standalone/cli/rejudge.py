"""The command `rejudge`, which judges stored messages again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Final

import typer

from standalone.state import DEFAULT_STATE, running
from standalone.terminal import AsJson, Database, Running, State, instant, print_json, progress_bar, run, say

if TYPE_CHECKING:
    from inference.rejudge import Difference
    from standalone.operations.rejudge import Rejudged

_KINDS: Final[tuple[Difference, ...]] = ("unchanged", "withdrawn", "added", "reversed", "moved")


def rejudge(
    since: Annotated[
        str | None, typer.Option(help="Judge messages sent at or after this RFC 3339 time; default: all messages.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; print the number of verdicts that would change.")
    ] = False,
    database: Database = None,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Judge messages again that an earlier release or mode of the detector judged, and announce changed verdicts.

    Reviews are not changed. Services may keep running. Ctrl-C stops the command; run it again to judge the rest.
    """
    from inference.settings import InferenceSettings
    from servicekit.log.cluster import cluster_at
    from servicekit.settings import read_settings
    from standalone.operations.log_access import LogTarget, target_of
    from standalone.operations.rejudge import rejudge_database

    async def work() -> Rejudged:
        own = running(state) if (state / "run.json").exists() else None
        address = database or (str(own["database"]) if own else None)
        settings = read_settings(InferenceSettings, **({"database_url": address} if address else {}))
        is_configured = broker is None and own is None
        target = LogTarget(cluster_at(settings.broker), "") if is_configured else target_of(broker, state)
        with ExitStack() as shown:

            def open_progress(total: int) -> Callable[[int], None]:
                return shown.enter_context(progress_bar("Judging", total, as_json))

            return await rejudge_database(
                settings, target, instant(since) or 0, dry_run=dry_run, say=say, open_progress=open_progress
            )

    done = run(work())
    counts = {kind: done.differences[kind] for kind in _KINDS}
    if as_json:
        print_json({"detector": done.detector, "judged": done.differences.total(), **counts})
        return
    verb = "would judge" if dry_run else "judged"
    say(f"Detector {done.detector} {verb} {done.differences.total():,} messages again.")
    for kind, count in counts.items():
        say(f"{count:8,} {kind}")
