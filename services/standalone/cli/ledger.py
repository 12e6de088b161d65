"""The `ledger` commands, which compare, repair and reread the topic feedback.created and the tables built from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast
from uuid import UUID

import typer

from standalone.state import DEFAULT_STATE, running_database
from standalone.terminal import (
    FAILED,
    AsJson,
    Database,
    Running,
    State,
    StoreUrl,
    instant,
    print_json,
    progress_bar,
    run,
    say,
    show,
)

SHOWN = 50
"""Maximum number of records to print."""
BEGINNING = "earliest"
ledger = typer.Typer(
    name="ledger",
    help="The ledger feedback.created: compare it with the store, announce again, read the log again, rebuild reports.",
    no_args_is_help=True,
)


@ledger.command("verify")
def verify(
    store: StoreUrl = None,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Compare the whole topic feedback.created with the feedback store. The exit code is 1 if they differ."""
    from standalone.operations.ledger import agrees
    from standalone.operations.ledger import verify as compared
    from standalone.operations.log_access import store_of, target_of

    async def work() -> dict[str, Any]:
        target = target_of(broker, state, store)
        async with store_of(target) as records:
            return await compared(target.bootstrap, records, (lambda _: None) if as_json else say)

    facts = run(work())
    if as_json:
        print_json(facts)
    elif agrees(facts):
        say(f"The ledger and the store agree on {facts['stored']:,} feedback records.")
    else:
        if facts["unreadable"]:
            places = ", ".join(facts["unreadable_at"][:SHOWN])
            say(f"{facts['unreadable']:,} records of the ledger are not announcements: {places}")
            say("Consumers skip them. Compaction removes each once another record or a null with its key follows.")
        if facts["first_difference"]:
            say(facts["first_difference"])
            kinds = ("missing", "extra", "differing", "stale", "impossible")
            say(", ".join(f"{facts[kind]:,} {kind}" for kind in kinds))
            say("`ledger republish` announces the whole store again; an in-memory log starts empty in each run.")
    if not agrees(facts):
        raise typer.Exit(FAILED)


@ledger.command("republish")
def republish(
    restored: Annotated[
        bool,
        typer.Option(
            "--restored",
            help="The store comes from a backup: first raise each record above its revision in feedback.created, so "
            "that consumers accept the stored state.",
        ),
    ] = False,
    store: StoreUrl = None,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Publish all stored feedback records to feedback.created again, after the log was lost or recreated."""
    from standalone.operations.ledger import Republished
    from standalone.operations.ledger import republish as announce_all
    from standalone.operations.log_access import store_of, target_of, writing_to
    from standalone.operations.restored_store import raise_above_ledger

    async def work() -> Republished:
        target = target_of(broker, state, store)
        async with store_of(target) as records, writing_to(target) as producer:
            raised = await raise_above_ledger(records, target.bootstrap) if restored else None
            with progress_bar("Announcing", (await records.count()).total(), as_json) as advance:
                result = await announce_all(records, producer, advance)
            result.raised = raised
            return result

    result = run(work())
    if as_json:
        raising = {} if result.raised is None else {"raised": result.raised}
        print_json({"announced": result.announced, **raising, "impossible": _by_name(result.impossible)})
    else:
        if result.raised is not None:
            say(f"Raised the revision of {result.raised:,} feedback records.")
        say(f"Announced {result.announced:,} feedback records.")
        _say_impossible(result.impossible, "announced")
    if result.impossible:
        raise typer.Exit(FAILED)


@ledger.command("rewind")
def rewind(
    to: Annotated[str, typer.Option(help=f"Read the log again from this RFC 3339 time, or from `{BEGINNING}`.")],
    group: Annotated[list[str] | None, typer.Option(help="A consumer group; may be repeated. Default: all.")] = None,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Reset the services to an earlier time in the log, after a database was restored from a backup.

    Stop the services first. When they read the log again, they ignore records that their database already contains. A
    consumer group is never moved forward.
    """
    from contracts.topics import Consumer
    from standalone.operations.log_access import target_of
    from standalone.operations.rewind import GROUPS
    from standalone.operations.rewind import rewind as rewind_groups

    since = None if to == BEGINNING else instant(to)
    if unknown := sorted(set(group or ()) - set(GROUPS)):
        raise typer.BadParameter(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}.")
    groups = cast(list[Consumer], group or list(GROUPS))

    async def work() -> dict[str, int]:
        return await rewind_groups(target_of(broker, state, "").bootstrap, groups, since)

    again = run(work())
    if as_json:
        print_json(again)
        return
    for name, records in again.items():
        show(f"{name}: {records:,} records again")
    say("Start the services, wait until the lag is 0, then run `ledger republish --restored` and `ledger verify`.")


@ledger.command("rebuild")
def rebuild(
    store: StoreUrl = None,
    database: Database = None,
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
        own = running_database(state)
        of_feedback, of_reporting = read_settings(FeedbackSettings), read_settings(ReportingSettings)
        reports_at = database or own or of_reporting.database_url
        async with store_of(
            LogTarget(cluster_at(of_feedback.broker), store or own or of_feedback.store_url)
        ) as records:
            with progress_bar("Rebuilding", (await records.count()).total(), as_json) as advance:
                return await rebuild_reporting(records, reports_at, say, advance)

    done = run(work())
    if as_json:
        switched = {"removed": done.switched.removed, "replaced": done.switched.replaced}
        print_json({"feedbacks": done.feedbacks, **switched, "impossible": _by_name(done.impossible)})
    else:
        say(
            f"Read {done.feedbacks:,} feedback records; {done.switched.replaced:,} rows of the reports were added or "
            f"changed, {done.switched.removed:,} removed."
        )
        _say_impossible(done.impossible, "reported")
    if done.impossible:
        raise typer.Exit(FAILED)


def _by_name(impossible: Mapping[UUID, str]) -> dict[str, str]:
    return {str(id_): fault for id_, fault in impossible.items()}


def _say_impossible(impossible: Mapping[UUID, str], work: str) -> None:
    """Print the first records that cannot be processed, with the reasons."""
    for id_, fault in list(impossible.items())[:SHOWN]:
        say(f"Feedback {id_} cannot be {work}: {fault}.")
