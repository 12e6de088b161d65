"""Rebuild of the feedback tables in second tables, whose rows then replace the current ones in one transaction.

Until then readers see the current rows. A rebuild that stops half way leaves tables that the next rebuild drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN
from reporting.database import Connection
from reporting.projection import FeedbackRow
from reporting.rollups import HOUR
from reporting.store_postgres import (
    FEEDBACK_COLUMNS,
    FEEDBACK_TABLES,
    GIVEN_FEEDBACKS,
    IS_LIVE,
    REPLACED_FEEDBACK,
    FeedbackTable,
    by_table,
    given_feedbacks,
)
from servicekit.errors import StartError

_SWITCH_SECONDS: Final = 3_600.0
_COLUMNS: Final = ", ".join(FEEDBACK_COLUMNS)
_LOCK: Final = "select pg_try_advisory_lock(hashtext('agent-feedback rebuild'))"
_BEGIN: Final = """
drop table if exists {table}_rebuilt;
create unlogged table {table}_rebuilt (like {table} including defaults, primary key (feedback_id));
"""
_ADD: Final = f"insert into {{table}}_rebuilt ({_COLUMNS}) {GIVEN_FEEDBACKS}"
# Concurrent erasures wait for the switch and then find the new rows; earlier erasures are applied to the new rows.
_NOBODY_ERASES: Final = "lock table forgotten, erasures in share mode"
_LEAVE_OUT_ERASED: Final = f"""
delete from {{table}}_rebuilt r
where exists (select from forgotten f where f.feedback_id = r.feedback_id and f.revision >= r.revision)
   or exists (select from erasures e where e.tenant = r.tenant and e.user_id = r.user_id
              and r.{{is_live}} and r.occurred_at <= e.erased_at + {ERASURE_MARGIN})
"""
_OLD: Final = "pg_visible_in_snapshot({0}.written_by, $1::text::pg_snapshot)"
_REMOVE: Final = f"""
delete from {{table}} held
where {_OLD.format("held")} and not exists (select from {{table}}_rebuilt r where r.feedback_id = held.feedback_id)
"""
_REPLACE: Final = f"""
insert into {{table}} as held ({_COLUMNS})
select {_COLUMNS} from {{table}}_rebuilt order by feedback_id
on conflict (feedback_id) do update set {REPLACED_FEEDBACK}
where held.revision < excluded.revision or ({_OLD.format("held")} and
    ({", ".join(f"held.{name}" for name in FEEDBACK_COLUMNS)}) is distinct from
    ({", ".join(f"excluded.{name}" for name in FEEDBACK_COLUMNS)}))
"""
_RECOUNT: Final = f"""
insert into stale_hours (tenant, project, hour)
select distinct tenant, project, hour from (
    select tenant, project, occurred_at / {HOUR} * {HOUR} as hour from feedbacks
    union all select tenant, project, start from rollups where grain = 'total'
) counted
"""


@dataclass(frozen=True, slots=True)
class Switched:
    """Number of rows that a switch removed (absent from the rebuilt tables) and replaced (inserted or changed)."""

    removed: int = 0
    replaced: int = 0


class Generation:
    """Rebuild on its own connection: call `begin`, then `add` each feedback record once, then `switch`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begun = ""

    async def begin(self) -> None:
        """Create the empty tables. Raises StartError if another rebuild is running."""
        if not await self._connection.fetchval(_LOCK):
            raise StartError("Another rebuild of the reports is running: wait until it ends, or stop it.")
        for table in FEEDBACK_TABLES:
            await self._connection.execute(_BEGIN.format(table=table))
        self._begun = await self._connection.fetchval("select pg_current_snapshot()::text")

    async def add(self, rows: Sequence[FeedbackRow]) -> None:
        """Add feedback records to the rebuilt tables."""
        for table, some in by_table(rows).items():
            await self._connection.execute(_ADD.format(table=table), *given_feedbacks(some))

    async def switch(self) -> Switched:
        """Replace the contents of the feedback tables with the rebuilt rows, in one transaction.

        Feedback that was erased since `begin` stays erased. A row that the projection has written since `begin` is
        replaced only by a higher revision. All hours are marked stale, so that their roll-ups are counted again.
        """
        switched = Switched()
        async with self._connection.transaction():
            await self._connection.execute(_NOBODY_ERASES, timeout=_SWITCH_SECONDS)
            for table in FEEDBACK_TABLES:
                await self._run(_LEAVE_OUT_ERASED, table)
                removed = await self._run(_REMOVE, table, self._begun)
                replaced = await self._run(_REPLACE, table, self._begun)
                await self._run("drop table {table}_rebuilt", table)
                switched = Switched(switched.removed + removed, switched.replaced + replaced)
            await self._connection.execute(_RECOUNT, timeout=_SWITCH_SECONDS)
        return switched

    async def _run(self, statement: str, table: FeedbackTable, *values: str) -> int:
        """Run a statement on a feedback table. Return the number of rows that it changed."""
        made = statement.format(table=table, is_live=IS_LIVE[table])
        status = await self._connection.execute(made, *values, timeout=_SWITCH_SECONDS)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0


async def serving(pool: asyncpg.Pool) -> bool:
    """Return True if the read model contains any feedback."""
    return bool(await pool.fetchval("select exists (select from feedbacks) or exists (select from replies)"))
