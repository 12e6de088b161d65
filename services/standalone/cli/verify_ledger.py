"""The command `ledger verify`, which compares the topic feedback.created with the feedback store."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import typer

from standalone.state import DEFAULT_STATE
from standalone.terminal import FAILED, AsJson, Running, State, StoreUrl, print_json, run, say

SHOWN = 50
"""Maximum number of records to print."""


def verify_ledger(
    clear: Annotated[
        bool, typer.Option("--clear", help="First publish a tombstone for each record that announces no feedback.")
    ] = False,
    store: StoreUrl = None,
    broker: Running = None,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Compare the whole topic feedback.created with the feedback store. The exit code is 1 if they differ."""
    from standalone.operations.ledger import agrees, clear_junk, verify
    from standalone.operations.log_access import store_of, target_of, writing_to

    async def work() -> dict[str, Any]:
        target = target_of(broker, state, store)
        async with store_of(target) as records:
            if clear:

                async def is_stored(feedback_id: UUID) -> bool:
                    return bool(await records.load([feedback_id]))

                async with writing_to(target) as producer:
                    await clear_junk(target.bootstrap, producer, is_stored)
            return await verify(target.bootstrap, records, (lambda _: None) if as_json else say)

    facts = run(work())
    if as_json:
        print_json(facts)
    elif agrees(facts):
        say(f"The ledger and the store agree on {facts['stored']:,} feedback records.")
    else:
        if facts["unreadable"]:
            places = ", ".join(facts["unreadable_at"][:SHOWN])
            say(f"{facts['unreadable']:,} records of the ledger are not announcements: {places}")
            say("Consumers skip them. `ledger verify --clear` lets compaction remove them. If the key is a stored")
            say("feedback record's, use `ledger republish`.")
        if facts["first_difference"]:
            say(facts["first_difference"])
            kinds = ("missing", "extra", "differing", "stale", "impossible")
            say(", ".join(f"{facts[kind]:,} {kind}" for kind in kinds))
            say("`ledger republish` announces the whole store again; an in-memory log starts empty in each run.")
    if not agrees(facts):
        raise typer.Exit(FAILED)
