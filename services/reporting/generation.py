"""Rebuild of the table `feedbacks` in a second table, whose rows then replace the current ones in one transaction.

Until then readers see the current rows. A rebuild that stops half way leaves a table that the next rebuild drops.
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
from reporting.store_postgres import FEEDBACK_COLUMNS, GIVEN_FEEDBACKS, REPLACED_FEEDBACK, given_feedbacks
from servicekit.errors import StartError

_SWITCH_SECONDS: Final = 3_600.0
_COLUMNS: Final = ", ".join(FEEDBACK_COLUMNS)
_LOCK: Final = "select pg_try_advisory_lock(hashtext('agent-feedback rebuild'))"
_BEGIN: Final = """
drop table if exists feedbacks_rebuilt;
create unlogged table feedbacks_rebuilt (like feedbacks including defaults, primary key (feedback_id));
"""
_ADD: Final = f"insert into feedbacks_rebuilt ({_COLUMNS}) {GIVEN_FEEDBACKS}"
# Concurrent erasures wait for the switch and then find the new rows; earlier erasures are applied to the new rows.
_NOBODY_ERASES: Final = "lock table forgotten, erasures in share mode"
_LEAVE_OUT_ERASED: Final = f"""
delete from feedbacks_rebuilt r
where exists (select from forgotten f where f.feedback_id = r.feedback_id and f.revision >= r.revision)
   or exists (select from erasures e where e.tenant = r.tenant and e.user_id = r.user_id
              and r.reaction is not null and r.occurred_at <= e.erased_at + {ERASURE_MARGIN})
"""
_OLD: Final = "pg_visible_in_snapshot({0}.written_by, $1::text::pg_snapshot)"
_REMOVE: Final = f"""
delete from feedbacks held
where {_OLD.format("held")} and not exists (select from feedbacks_rebuilt r where r.feedback_id = held.feedback_id)
"""
_REPLACE: Final = f"""
insert into feedbacks as held ({_COLUMNS})
select {_COLUMNS} from feedbacks_rebuilt order by feedback_id
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
    """Number of rows that a switch removed (absent from the rebuilt table) and replaced (inserted or changed)."""

    removed: int
    replaced: int


class Generation:
    """Rebuild on its own connection: call `begin`, then `add` each feedback record once, then `switch`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begun = ""

    async def begin(self) -> None:
        """Create the empty table. Raises StartError if another rebuild is running."""
        if not await self._connection.fetchval(_LOCK):
            raise StartError("Another rebuild of the reports is running: wait until it ends, or stop it.")
        await self._connection.execute(_BEGIN)
        self._begun = await self._connection.fetchval("select pg_current_snapshot()::text")

    async def add(self, rows: Sequence[FeedbackRow]) -> None:
        """Add feedback records to the rebuilt table."""
        if rows:
            await self._connection.execute(_ADD, *given_feedbacks(rows))

    async def switch(self) -> Switched:
        """Replace the contents of `feedbacks` with the rebuilt rows, in one transaction.

        Feedback that was erased since `begin` stays erased. A row that the projection has written since `begin` is
        replaced only by a higher revision. All hours are marked stale, so that their roll-ups are counted again.
        """
        connection = self._connection
        async with connection.transaction():
            await connection.execute(_NOBODY_ERASES, timeout=_SWITCH_SECONDS)
            await connection.execute(_LEAVE_OUT_ERASED, timeout=_SWITCH_SECONDS)
            removed = await connection.execute(_REMOVE, self._begun, timeout=_SWITCH_SECONDS)
            replaced = await connection.execute(_REPLACE, self._begun, timeout=_SWITCH_SECONDS)
            await connection.execute(_RECOUNT, timeout=_SWITCH_SECONDS)
            await connection.execute("drop table feedbacks_rebuilt")
        return Switched(_count(removed), _count(replaced))


async def serving(pool: asyncpg.Pool) -> bool:
    """Return True if the read model contains any feedback."""
    return bool(await pool.fetchval("select exists (select from feedbacks)"))


def _count(status: str) -> int:
    return int(status.rpartition(" ")[2])
