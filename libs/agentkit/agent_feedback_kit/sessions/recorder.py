"""Store a session rating. Failures are logged and not raised, so that they never prevent a session from ending."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from agent_feedback_kit.answers import Label
from agent_feedback_kit.deadlines import within
from agent_feedback_kit.sessions.backend import SessionFeedbackBackend
from agent_feedback_kit.sessions.choice import open_backend
from agent_feedback_kit.sessions.record import DEFAULT_TENANT, MemoryMode, SessionFeedbackRecord, Source, opaque

log = logging.getLogger("agent_feedback_kit.sessions")
SECONDS = 2.0
"""Default deadline for storing a rating at the end of a session, in seconds."""
TurnCount = int | Callable[[], Awaitable[int]]
"""Number of turns, or a function that returns it."""
Opens = Callable[[MemoryMode], Awaitable[SessionFeedbackBackend]]


class IncognitoOnDisk(Exception):
    """Raised if the rating of an incognito session would be stored outside this process."""


async def record_session_feedback(
    thread_id: str,
    label: Label,
    source: Source,
    *,
    turn_count: TurnCount,
    mode: MemoryMode = MemoryMode.LOCAL,
    user_id: str | None = None,
    tenant: str = DEFAULT_TENANT,
    idempotency_key: str | None = None,
    backend: SessionFeedbackBackend | Opens = open_backend,
    seconds: float = SECONDS,
) -> SessionFeedbackRecord | None:
    """Store the rating of a session and return the stored record.

    Never raises. After a failure or a timeout, a WARNING is logged and None is returned. The warning only contains the
    class of the exception, because its text may identify the person, the session or an address. The rating of an
    incognito session is stored without the user and only in memory.

    Args:
        thread_id: The session's thread.
        label: The rating.
        source: The interface in which the rating was given.
        turn_count: The number of turns of the session, or a function that returns it.
        mode: The memory mode of the session.
        user_id: The person who rated the session.
        tenant: The tenant that owns the rating.
        idempotency_key: Key that prevents the rating from being stored twice.
        backend: The backend, or a function that opens it.
        seconds: Time limit in seconds.
    """
    person = None if mode is MemoryMode.INCOGNITO else user_id

    async def store() -> SessionFeedbackRecord:
        turns = turn_count if isinstance(turn_count, int) else await turn_count()
        record = SessionFeedbackRecord(opaque(thread_id), label, turns, source, person, idempotency_key)
        return await _stored(record, mode, tenant, backend)

    try:
        return await within(seconds, store())
    except Exception as error:
        log.warning("The session's rating was not stored (%s).", type(error).__name__)
        return None


async def _stored(
    record: SessionFeedbackRecord, mode: MemoryMode, tenant: str, backend: SessionFeedbackBackend | Opens
) -> SessionFeedbackRecord:
    """Store a record in `backend`, which is closed afterwards if this function has opened it.

    Raises:
        IncognitoOnDisk: The session is incognito, and the backend is not in memory.
    """
    store = await backend(mode) if callable(backend) else backend
    if mode is MemoryMode.INCOGNITO and store.name not in ("memory", "null"):
        raise IncognitoOnDisk
    try:
        return await store.arecord(record, tenant=tenant)
    finally:
        if callable(backend):
            await store.aclose()
