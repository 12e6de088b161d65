"""Rebuild of the feedback table.

A rebuild fills a shadow table, then replaces the current rows with their contents in one transaction. Readers see the
current rows until this transaction commits. The shadow table of an interrupted rebuild is dropped by the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from reporting.model.projection import FeedbackRow
from reporting.read_models.store_postgres import feedback_parameters
from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.errors import StartError

_SWITCH_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Switched:
    """Number of rows changed by a switch to the rebuilt rows.

    Attributes:
        removed: Number of deleted rows, which were absent from the shadow table.
        replaced: Number of inserted or changed rows.
    """

    removed: int = 0
    replaced: int = 0


class Generation:
    """Rebuild of the feedback table, on a connection of its own.

    Call `begin`, then `add` each feedback record once, then `switch`.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begun = ""

    async def begin(self) -> None:
        """Create the empty shadow table.

        Raises StartError if another rebuild is running.
        """
        if not await self._connection.fetchval(*SQL.lock_rebuild()):
            raise StartError("Another rebuild of the reports is running: wait until it ends, or stop it.")
        await self._connection.execute(*SQL.drop_rebuilt())
        await self._connection.execute(*SQL.create_rebuilt())
        self._begun = await self._connection.fetchval(*SQL.current_snapshot())

    async def add(self, rows: Sequence[FeedbackRow]) -> None:
        """Add feedback records to the shadow table."""
        await self._connection.execute(*SQL.add_rebuilt.bulk(feedback_parameters(rows)))

    async def switch(self) -> Switched:
        """Replace the contents of the feedback table with the rebuilt rows, in one transaction.

        Feedback that was erased since `begin` stays erased. Rows that the projection has written since `begin` are
        replaced only by a higher revision. All hours are marked as stale, so that their roll-ups are recomputed.
        """
        async with self._connection.transaction():
            await self._connection.execute(*SQL.block_erasures(), timeout=_SWITCH_SECONDS)
            await self._run(SQL.delete_erased_rebuilt())
            removed = await self._run(SQL.remove_missing(begun=self._begun))
            replaced = await self._run(SQL.replace_changed(begun=self._begun))
            await self._run(SQL.drop_rebuilt())
            await self._connection.execute(*SQL.mark_all_hours(), timeout=_SWITCH_SECONDS)
        return Switched(removed, replaced)

    async def _run(self, statement: tuple[Any, ...]) -> int:
        """Run a statement with its parameters, and return the number of changed rows."""
        status = await self._connection.execute(*statement, timeout=_SWITCH_SECONDS)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0


async def serving(pool: asyncpg.Pool) -> bool:
    """Return True if the read models contain any feedback."""
    return bool(await pool.fetchval(*SQL.has_feedback()))
