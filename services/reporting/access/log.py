"""Access log of transcript reads, exports and erasures, and of changes to alert rules, views, accounts and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import asyncpg

from contracts.feedback import FeedbackErasureRequested
from reporting.access.roles import ALL, ProjectSet
from reporting.read_models.database import Connection
from reporting.sql import SQL
from servicekit import Clock

AccessAction = Literal["read", "exported", "erased", "changed rule", "changed access", "changed view"]
MOST_ENTRIES: Final = 100
"""Maximum number of entries that the page shows."""


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """Entry of the log; `at` is in microseconds. `project` is None if the entry concerns the whole tenant."""

    at: int
    tenant: str
    project: str | None
    actor: str
    action: AccessAction
    about: str


class AccessLog:
    """Access log in the database. An entry is committed before the response is sent, so no access is missing."""

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
        """Add an entry, unless it repeats a read of the same conversation within an hour.

        With a `connection`, the entry is part of its transaction.
        """
        values = {"actor": actor, "tenant": tenant, "project": project, "action": action, "about": about}
        await (connection or self._pool).execute(*SQL.note_access(**values, now=self._clock.now()))

    async def note_erasure(self, request: FeedbackErasureRequested) -> None:
        """Add an erasure request, without the person's id. A repeated request is added only once."""
        actor, about = request.requested_by or "unknown", request.request_id
        values = {"actor": actor, "tenant": request.tenant, "project": None, "action": "erased", "about": about}
        await self._pool.execute(*SQL.note_access(**values, now=request.occurred_at))

    async def newest(self, within: ProjectSet, limit: int = MOST_ENTRIES) -> Sequence[AccessEntry]:
        """Return the newest entries about projects in `within`, at most `limit`."""
        tenant = None if within.tenant == ALL else within.tenant
        projects = None if within.projects == (ALL,) else [*within.projects]
        rows = await self._pool.fetch(*SQL.newest_access(tenant=tenant, projects=projects, limit=limit))
        return [AccessEntry(**row) for row in rows]
