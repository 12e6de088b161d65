"""The command `ledger republish`, which announces all stored feedback again."""

from __future__ import annotations

from typing import Annotated

import typer

from standalone.cli.progress import progress_bar
from standalone.state import DEFAULT_STATE
from standalone.terminal import FAILED, AsJson, Running, State, StoreUrl, print_json, run, say

SHOWN = 50
"""Maximum number of records to print."""


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
            totals = await records.totals()
            with progress_bar("Announcing", totals.stored, as_json) as advance:
                result = await announce_all(records, producer, advance)
            result.raised = raised
            return result

    result = run(work())
    impossible = {str(id_): fault for id_, fault in result.impossible.items()}
    if as_json:
        raising = {} if result.raised is None else {"raised": result.raised}
        print_json({"announced": result.announced, **raising, "impossible": impossible})
    else:
        if result.raised is not None:
            say(f"Raised the revision of {result.raised:,} feedback records.")
        say(f"Announced {result.announced:,} feedback records.")
        for id_, fault in list(impossible.items())[:SHOWN]:
            say(f"Feedback {id_} cannot be announced: {fault}.")
    if impossible:
        raise typer.Exit(FAILED)
