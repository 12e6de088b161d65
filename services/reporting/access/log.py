"""Access log: who read, exported or erased data, or changed alert rules or keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import asyncpg
import structlog

from contracts.feedback import PersonRequest
from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.clock import Clock
from servicekit.web.auth import Caller

AccessAction = Literal["read", "searched", "exported", "erased", "changed training", "changed rule", "changed access"]
log = structlog.get_logger(__name__)
MOST_ENTRIES: Final = 100
"""Maximum number of entries shown on the page."""


class AccessLog:
    """Access log in the database.

    Each entry is committed before the response that it describes is sent. The routes that write entries are listed in
    docs/decisions/tenants-and-access.md.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock

    async def note(
        self,
        actor: str,
        tenant: str,
        project: str | None,
        action: AccessAction,
        about: str,
        connection: Connection | None = None,
    ) -> None:
        """Add an entry to the log.

        Repeated reads of a conversation, and repeated searches, by the same caller are stored only once per clock hour.
        Each access is also written as a log line, for operators who collect log lines.

        Args:
            project: The project, or None if the entry is about the whole tenant.
            connection: Connection with an open transaction in which to write the entry. By default, it is committed at
                once.
        """
        values = {"actor": actor, "tenant": tenant, "project": project, "action": action, "about": about}
        await (connection or self._pool).execute(*SQL.note_access(**values, now=self._clock.now()))
        log.info("access", **values)

    async def note_request(self, request: PersonRequest, action: AccessAction, about: str) -> None:
        """Log a request about a person, without the person's id.

        If the same request arrives again, it is not logged again.
        """
        values = {"tenant": request.tenant, "project": None, "action": action, "about": about}
        actor = request.requested_by or "unknown"
        await self._pool.execute(*SQL.note_access(**values, actor=actor, now=request.occurred_at))

    async def newest(self, caller: Caller) -> Sequence[asyncpg.Record]:
        """Return the newest entries about the caller's projects, newest first. Times are in microseconds."""
        limits = {"tenant": caller.tenant, "projects": caller.projects, "limit": MOST_ENTRIES}
        return await self._pool.fetch(*SQL.newest_access(**limits))
