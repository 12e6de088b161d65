"""The command `rejudge`, which judges stored messages again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer

from standalone.state import DEFAULT_STATE, running
from standalone.terminal import AsJson, Database, Running, State, instant, print_json, progress_bar, run, say


def rejudge(
    since: Annotated[
        str | None, typer.Option(help="Judge messages sent at or after this RFC 3339 time; default: all messages.")
    ] = None,
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

    async def work() -> tuple[str, int]:
        own = running(state) if broker is None and (state / "run.json").exists() else None
        address = database or (str(own["database"]) if own else None)
        settings = read_settings(InferenceSettings, **({"database_url": address} if address else {}))
        is_configured = broker is None and own is None
        target = LogTarget(cluster_at(settings.broker), "") if is_configured else target_of(broker, state)
        with ExitStack() as shown:

            def open_progress(total: int) -> Callable[[int], None]:
                return shown.enter_context(progress_bar("Judging", total, as_json))

            return await rejudge_database(settings, target, instant(since) or 0, say=say, open_progress=open_progress)

    detector, judged = run(work())
    if as_json:
        print_json({"detector": detector, "judged": judged})
    else:
        say(f"Detector {detector} judged {judged:,} messages again.")
