"""The command `ledger rebuild`, which rebuilds the tables of the reporting service."""

from __future__ import annotations

from typing import Annotated

import typer

from standalone.cli.progress import progress_bar
from standalone.state import DEFAULT_STATE, running
from standalone.terminal import FAILED, AsJson, State, StoreUrl, print_json, run, say


def rebuild(
    store: StoreUrl = None,
    database: Annotated[
        str | None,
        typer.Option(help="Reporting's PostgreSQL URL; default: that of the running `up`, or the settings."),
    ] = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Rebuild the reports from the feedback store. The current reports are served until the rebuild is complete.

    Services may keep running. If a rebuild is interrupted, the reports remain unchanged. Chat messages are not rebuilt,
    because no other service stores them for as long as reporting does.
    """
    from feedback.settings import FeedbackSettings
    from reporting.settings import ReportingSettings
    from servicekit.log.cluster import cluster_at
    from servicekit.settings import read_settings
    from standalone.operations.log_access import LogTarget, store_of
    from standalone.operations.rebuild import Rebuilt, rebuild_reporting

    async def work() -> Rebuilt:
        own = str(running(state)["database"]) if (state / "run.json").exists() else None
        of_feedback, of_reporting = read_settings(FeedbackSettings), read_settings(ReportingSettings)
        reports_at = database or own or of_reporting.database_url
        async with store_of(
            LogTarget(cluster_at(of_feedback.broker), store or own or of_feedback.store_url)
        ) as records:
            totals = await records.totals()
            with progress_bar("Rebuilding", totals.stored, as_json) as advance:
                return await rebuild_reporting(records, reports_at, say, advance)

    done = run(work())
    impossible = {str(id_): fault for id_, fault in done.impossible.items()}
    if as_json:
        switched = {"removed": done.switched.removed, "replaced": done.switched.replaced}
        print_json({"feedbacks": done.feedbacks, **switched, "impossible": impossible})
    else:
        say(
            f"Read {done.feedbacks:,} feedback records; {done.switched.replaced:,} rows of the reports were added or "
            f"changed, {done.switched.removed:,} removed."
        )
        for id_, fault in list(impossible.items())[:50]:
            say(f"Feedback {id_} cannot be reported: {fault}.")
    if impossible:
        raise typer.Exit(FAILED)
