"""Erasure of a person in the read models: blanks their messages' text and sender, deletes their feedback."""

from __future__ import annotations

from typing import Final

from contracts.erasure import ERASURE_MARGIN, ErasedAt
from contracts.instants import DAY
from reporting.rollups import WAIT_FOR_COUNT
from reporting.store_postgres import IS_LIVE
from servicekit.db.erasure_ledger import ErasureLedger

SENDER: Final = "nullif(sender_id, '') as sender_id"
"""SQL expression for a message's sender: null for an erased person."""
_AT_ONCE: Final = 5_000
"""Maximum number of rows that one statement changes, to stay under the statement timeout."""
# Bytes 2 to 9 of a version are the message's time (contracts/versions.py).
_BLANK_MESSAGES: Final = """
update messages set content = '', sender_id = '' where (message_id, conversation_id, tenant, project) in (
    select message_id, conversation_id, tenant, project from messages
    where sender_id = $2 and tenant = $1 and sender_type = 'human'
      and substring(version from 2 for 8) <= int8send($3::bigint)
    limit $4)
"""
_DELETE_FEEDBACKS: Final = [
    f"""
delete from {table} where feedback_id in (
    select feedback_id from {table}
    where tenant = $1 and user_id = $2 and {is_live} and occurred_at <= $3 limit $4)
"""
    for table, is_live in IS_LIVE.items()
]
_DROP_DELIVERIES: Final = """
delete from deliveries where (endpoint, subject) in (
    select endpoint, subject from deliveries
    where tenant = $1 and user_id = $2 and occurred_at <= $3 limit $4)
"""

# A roll-up may contain a tag that the person wrote. The deletion of their feedback has marked the hour stale, so this
# roll-up is no longer read.
_DROP_REASONS: Final = f"""
delete from rollups r using stale_hours s
where s.tenant = $1 and r.tenant = s.tenant and r.project = s.project
  and (r.grain = 'reason hour' and r.start = s.hour or r.grain = 'reason day' and r.start = s.hour / {DAY} * {DAY})
"""


class ReportingErasures(ErasureLedger):
    """Erasures in the read models (see `servicekit.log.erasing.Erasures`).

    Messages stay without text and sender, so that turns keep their positions.
    """

    async def erase(self, erased: ErasedAt) -> int:
        """Blank these people's messages; delete their feedback, its reason counts and its webhook deliveries.

        Returns the number of messages, feedback records and deliveries changed.
        """
        changed = 0
        for (tenant, user_id), at in sorted(erased.items()):
            for statement in (_BLANK_MESSAGES, *_DELETE_FEEDBACKS, _DROP_DELIVERIES):
                changed += await self._repeated(statement, tenant, user_id, at + ERASURE_MARGIN)
        for tenant in {tenant for tenant, _ in erased}:
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(WAIT_FOR_COUNT)
                await connection.execute(_DROP_REASONS, tenant)
        return changed

    async def _repeated(self, statement: str, *arguments: str | int) -> int:
        changed = 0
        while True:
            done = int((await self._pool.execute(statement, *arguments, _AT_ONCE)).rpartition(" ")[2])
            changed += done
            if done < _AT_ONCE:
                return changed
