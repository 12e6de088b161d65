"""Erasure of people in the read models.

Message texts and senders are blanked, and feedback is deleted.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN, ErasedAt
from reporting.sql import SQL

_AT_ONCE: Final = 1_000
"""Maximum number of rows that one statement changes, to stay within the statement timeout."""
_STATEMENTS: Final = (
    SQL.blank_messages,
    SQL.delete_issue_turns_of_person,
    SQL.delete_feedbacks_of_person,
    SQL.delete_deliveries_of_person,
)


class ReportingErasures:
    """Eraser of people in the read models.

    The rows of erased messages remain, without text, so that turns keep their positions.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def erase(self, erased: ErasedAt) -> int:
        """Blank the messages of the erased people, and delete all their other rows.

        Also deletes the reason counts that may include the people's tags.

        Returns:
            The number of blanked or deleted rows, without reason counts.
        """
        changed = 0
        for (tenant, user_id), erased_at in sorted(erased.items()):
            covered = {"tenant": tenant, "user_id": user_id, "until": erased_at + ERASURE_MARGIN, "limit": _AT_ONCE}
            for statement in _STATEMENTS:
                changed += await self._repeated(*statement(**covered))
        for tenant in {tenant for tenant, _ in erased}:
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(*SQL.wait_for_count())
                await connection.execute(*SQL.delete_reason_counts(tenant=tenant))
        return changed

    async def _repeated(self, statement: str, *arguments: str | int) -> int:
        changed = 0
        while True:
            done = int((await self._pool.execute(statement, *arguments)).rpartition(" ")[2])
            changed += done
            if done < _AT_ONCE:
                return changed
