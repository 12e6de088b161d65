"""The command `ledger rewind`, which resets consumer groups to an earlier time."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from standalone.state import DEFAULT_STATE
from standalone.terminal import AsJson, Running, State, instant, print_json, run, say, show

BEGINNING = "earliest"


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
