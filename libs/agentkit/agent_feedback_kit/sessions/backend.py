"""Storage of ratings: the port, and the two backends without a disk."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from agent_feedback_kit.sessions.record import (
    DEFAULT_TENANT,
    SessionFeedbackRecord,
    checked_tenant,
    format_time,
)


class SessionFeedbackBackend(Protocol):
    """Keeps ratings, each tenant's apart. Any method may raise where the backend is slow, full, locked or gone."""

    @property
    def name(self) -> str:
        """`postgres`, `sqlite`, `memory` or `null`."""
        ...

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        """Keep a rating; returns the kept one, which is an earlier one where that has the same idempotency key.

        Keeping a record of the same id again changes nothing.
        """
        ...

    async def arecord_count(self, *, tenant: str = DEFAULT_TENANT) -> int:
        """Return the tenant's number of ratings."""
        ...

    async def alist_by_session(
        self, session_id_opaque: str, *, tenant: str = DEFAULT_TENANT
    ) -> list[SessionFeedbackRecord]:
        """The ratings of one session, oldest first."""
        ...

    async def apurge_before(self, moment: datetime, *, tenant: str | None = None) -> int:
        """Remove what was recorded before `moment` (of all tenants where none is given); returns how many."""
        ...

    async def aclose(self) -> None:
        """Let go of files and connections."""
        ...


MEMORY_LIMIT = 10_000
"""Ratings of a tenant that are kept in memory; beyond it the oldest goes."""


class MemoryBackend:
    """Keeps ratings until the process ends: the only place for those of an incognito session."""

    name = "memory"

    def __init__(self) -> None:
        self._records: dict[str, list[SessionFeedbackRecord]] = {}

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        records = self._records.setdefault(checked_tenant(tenant), [])
        for held in records:
            if held.id == record.id or (
                record.idempotency_key is not None and held.idempotency_key == record.idempotency_key
            ):
                return held
        records.append(record)
        del records[:-MEMORY_LIMIT]
        return record

    async def arecord_count(self, *, tenant: str = DEFAULT_TENANT) -> int:
        return len(self._records.get(tenant, ()))

    async def alist_by_session(
        self, session_id_opaque: str, *, tenant: str = DEFAULT_TENANT
    ) -> list[SessionFeedbackRecord]:
        mine = [one for one in self._records.get(tenant, ()) if one.session_id_opaque == session_id_opaque]
        return sorted(mine, key=lambda one: (one.recorded_at, str(one.id)))

    async def apurge_before(self, moment: datetime, *, tenant: str | None = None) -> int:
        limit, removed = format_time(moment), 0
        for name in self._records if tenant is None else [tenant]:
            held = self._records.get(name, [])
            kept = [one for one in held if one.recorded_at >= limit]
            removed += len(held) - len(kept)
            self._records[name] = kept
        return removed

    async def aclose(self) -> None:
        """Nothing is held open; the ratings stay until the process ends."""


class NullBackend:
    """Keeps nothing."""

    name = "null"

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        checked_tenant(tenant)
        return record

    async def arecord_count(self, *, tenant: str = DEFAULT_TENANT) -> int:
        return 0

    async def alist_by_session(
        self, session_id_opaque: str, *, tenant: str = DEFAULT_TENANT
    ) -> list[SessionFeedbackRecord]:
        return []

    async def apurge_before(self, moment: datetime, *, tenant: str | None = None) -> int:
        return 0

    async def aclose(self) -> None:
        """Nothing is held open."""
