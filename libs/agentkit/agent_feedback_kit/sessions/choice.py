"""Select the backend for a session rating, based on the session's memory mode and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from agent_feedback_kit.sessions.backend import MemoryBackend, SessionFeedbackBackend
from agent_feedback_kit.sessions.postgres import PostgresBackend
from agent_feedback_kit.sessions.record import MemoryMode
from agent_feedback_kit.sessions.sqlite import SqliteBackend

SETTINGS = ("AGENT_FEEDBACK_PERSISTENCE_BACKEND", "OPENCOUCH_PERSISTENCE_BACKEND")
"""Current and former names of the environment variable; the first one that is set counts."""
DATABASE_URL = "AGENT_FEEDBACK_DATABASE_URL"
_CONNECT_SECONDS = 2.0
INCOGNITO = MemoryBackend()
"""Backend for the ratings of incognito sessions, one per process."""


def backend_name(mode: MemoryMode, environ: Mapping[str, str] = os.environ) -> Literal["postgres", "sqlite", "memory"]:
    """Return the name of the backend for a session.

    Incognito sessions always use `memory`. Other sessions use `postgres` if an environment variable in `SETTINGS`
    selects it, otherwise `sqlite`.
    """
    if mode is MemoryMode.INCOGNITO:
        return "memory"
    choice = next((environ[name] for name in SETTINGS if environ.get(name)), "")
    return "postgres" if choice.strip().lower() in ("postgres", "postgresql") else "sqlite"


async def open_backend(mode: MemoryMode, environ: Mapping[str, str] = os.environ) -> SessionFeedbackBackend:
    """Open the backend for a session.

    With PostgreSQL, the database URL is taken from the environment variable AGENT_FEEDBACK_DATABASE_URL, and the table
    is created if it is missing. If this function is passed to `record_session_feedback`, exceptions are only logged.

    Raises:
        ValueError: No database URL is set.
        ModuleNotFoundError: The package asyncpg is missing.
        Exception: Any exception of asyncpg, if the database is unavailable.
    """
    match backend_name(mode, environ):
        case "memory":
            return INCOGNITO
        case "sqlite":
            return SqliteBackend()
    import asyncpg

    url = environ.get(DATABASE_URL)
    if not url:
        raise ValueError(f"{DATABASE_URL} is not set")
    pool = await asyncpg.create_pool(
        url, min_size=0, max_size=2, timeout=_CONNECT_SECONDS, command_timeout=_CONNECT_SECONDS
    )
    try:
        backend = PostgresBackend(pool)
        await backend.acreate()
    except BaseException:
        await pool.close()
        raise
    return backend
