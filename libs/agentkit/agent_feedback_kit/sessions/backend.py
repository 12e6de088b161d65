"""Interface of the backends that store session ratings, an in-memory backend, and one that discards ratings."""

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
    """Interface of a backend that stores the session ratings of each tenant separately.

    All methods may raise exceptions if the backend is unavailable or full.
    """

    @property
    def name(self) -> str:
        """Name of the backend: `postgres`, `sqlite`, `memory` or `null`."""
        ...

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        """Store a rating and return the stored record.

        If a rating with the same id or the same idempotency key already exists, it is returned and nothing is stored.
        """
        ...

    async def arecord_count(self, *, tenant: str = DEFAULT_TENANT) -> int:
        """Return the number of ratings stored for a tenant."""
        ...

    async def alist_by_session(
        self, session_id_opaque: str, *, tenant: str = DEFAULT_TENANT
    ) -> list[SessionFeedbackRecord]:
        """Return the ratings of a session, oldest first."""
        ...

    async def apurge_before(self, moment: datetime, *, tenant: str | None = None) -> int:
        """Delete the ratings recorded before `moment` and return their number.

        If `tenant` is None, the ratings of all tenants are deleted.
        """
        ...

    async def aclose(self) -> None:
        """Close all files and connections of the backend."""
        ...


MEMORY_LIMIT = 10_000
"""Maximum number of ratings in memory per tenant; beyond it, the oldest rating is dropped."""


class MemoryBackend:
    """In-memory backend, whose ratings are lost when the process ends. Incognito sessions use only this backend."""

    name = "memory"

    def __init__(self) -> None:
        self._records: dict[str, list[SessionFeedbackRecord]] = {}

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        records = self._records.setdefault(checked_tenant(tenant), [])
        for stored in records:
            if stored.id == record.id or (
                record.idempotency_key is not None and stored.idempotency_key == record.idempotency_key
            ):
                return stored
        records.append(record)
        del records[:-MEMORY_LIMIT]
        return record

    async def arecord_count(self, *, tenant: str = DEFAULT_TENANT) -> int:
        return len(self._records.get(tenant, ()))

    async def alist_by_session(
        self, session_id_opaque: str, *, tenant: str = DEFAULT_TENANT
    ) -> list[SessionFeedbackRecord]:
        matching = [record for record in self._records.get(tenant, ()) if record.session_id_opaque == session_id_opaque]
        return sorted(matching, key=lambda record: (record.recorded_at, str(record.id)))

    async def apurge_before(self, moment: datetime, *, tenant: str | None = None) -> int:
        limit, removed = format_time(moment), 0
        for name in self._records if tenant is None else [tenant]:
            stored = self._records.get(name, [])
            kept = [record for record in stored if record.recorded_at >= limit]
            removed += len(stored) - len(kept)
            self._records[name] = kept
        return removed

    async def aclose(self) -> None:
        """Do nothing. The ratings are kept until the process ends."""


class NullBackend:
    """Backend that discards all ratings."""

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
        """Do nothing, because no resource is open."""
