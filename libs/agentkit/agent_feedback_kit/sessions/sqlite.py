"""Backend that stores ratings in a SQLite file, for a runtime on a single machine without a database server."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from agent_feedback_kit.sessions.record import (
    DEFAULT_TENANT,
    SessionFeedbackRecord,
    checked_tenant,
    format_time,
)

T = TypeVar("T")
DEFAULT_PATH = Path(".store/session_feedback.sqlite3")
LOCK_SECONDS = 2.0
"""Maximum time to wait for another process's lock, in seconds."""
_SCHEMA = """
create table if not exists session_feedback (
    tenant text not null check (length(tenant) between 1 and 64),
    id text not null check (length(id) = 36),
    session_id_opaque text not null
        check (length(session_id_opaque) = 64 and session_id_opaque not glob '*[^0-9a-f]*'),
    user_id_or_null text check (length(user_id_or_null) between 1 and 256),
    recorded_at text not null check (length(recorded_at) = 27 and recorded_at like '%Z'),
    label text not null check (label in ('positive', 'negative', 'skip')),
    turn_count_at_end integer not null check (typeof(turn_count_at_end) = 'integer' and turn_count_at_end >= 0),
    source text not null check (source in ('cli_end', 'cli_exit', 'api_end')),
    schema_version integer not null check (schema_version = 1),
    idempotency_key text check (length(idempotency_key) between 1 and 256),
    primary key (tenant, id),
    unique (tenant, idempotency_key)
) without rowid;
create index if not exists session_feedback_by_session on session_feedback (tenant, session_id_opaque, recorded_at);
create index if not exists session_feedback_by_time on session_feedback (recorded_at);
"""
_FIELDS = (
    "id, session_id_opaque, user_id_or_null, recorded_at, label, turn_count_at_end, source, schema_version, "
    "idempotency_key"
)


class SqliteBackend:
    """Backend that stores ratings in a SQLite file.

    Each call opens the file in a thread and closes it again. If the file or its directory does not exist, it is created
    with access for its owner only. Methods may raise OSError and sqlite3.Error.
    """

    name = "sqlite"

    def __init__(self, path: Path | str = DEFAULT_PATH, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self._path = Path(path)
        self._lock_seconds = lock_seconds

    async def arecord(self, record: SessionFeedbackRecord, *, tenant: str = DEFAULT_TENANT) -> SessionFeedbackRecord:
        row = (checked_tenant(tenant), *_row(record))

        def keep(db: sqlite3.Connection) -> SessionFeedbackRecord:
            places = ", ".join("?" * len(row))
            db.execute(
                f"insert into session_feedback (tenant, {_FIELDS}) values ({places}) on conflict do nothing", row
            )
            stored = db.execute(
                f"select {_FIELDS} from session_feedback where tenant = ?1 and (id = ?2 or idempotency_key = ?3)",
                (tenant, str(record.id), record.idempotency_key),
            ).fetchone()
            return _record(stored)

        return await self._run(keep)

    async def arecord_count(self, *, tenant: str = DEFAULT_TENANT) -> int:
        query = "select count(*) from session_feedback where tenant = ?"
        return await self._run(lambda db: int(db.execute(query, (tenant,)).fetchone()[0]))

    async def alist_by_session(
        self, session_id_opaque: str, *, tenant: str = DEFAULT_TENANT
    ) -> list[SessionFeedbackRecord]:
        query = (
            f"select {_FIELDS} from session_feedback where tenant = ? and session_id_opaque = ? "
            "order by recorded_at, id"
        )
        return await self._run(
            lambda db: [_record(row) for row in db.execute(query, (tenant, session_id_opaque)).fetchall()]
        )

    async def apurge_before(self, moment: datetime, *, tenant: str | None = None) -> int:
        statement = "delete from session_feedback where recorded_at < ?1 and (?2 is null or tenant = ?2)"
        return await self._run(lambda db: db.execute(statement, (format_time(moment), tenant)).rowcount)

    async def aclose(self) -> None:
        """Do nothing, because the file is not open between calls."""

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.to_thread(self._transaction, work)

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._path.exists():
            self._path.touch(mode=0o600)
        with closing(sqlite3.connect(self._path, timeout=self._lock_seconds)) as db:
            db.executescript(_SCHEMA)
            with db:
                return work(db)


def _row(record: SessionFeedbackRecord) -> tuple[Any, ...]:
    return (
        str(record.id),
        record.session_id_opaque,
        record.user_id_or_null,
        record.recorded_at,
        record.label,
        record.turn_count_at_end,
        record.source,
        record.schema_version,
        record.idempotency_key,
    )


def _record(row: tuple[Any, ...]) -> SessionFeedbackRecord:
    id_, session, user, recorded_at, label, turns, source, version, key = row
    return SessionFeedbackRecord(session, label, turns, source, user, key, UUID(id_), recorded_at, version)
