"""End of a session: its rating is stored, then announced on `feedback.session.created`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog

from agent_feedback_kit.answers import Label
from agent_feedback_kit.deadlines import within
from agent_feedback_kit.sessions.backend import MemoryBackend, SessionFeedbackBackend
from agent_feedback_kit.sessions.record import MemoryMode, Source, opaque
from agent_feedback_kit.sessions.recorder import record_session_feedback
from contracts.feedback import FeedbackSessionCreated
from contracts.ids import derived_id
from contracts.instants import parse_instant
from contracts.topics import SESSION_CREATED
from feedback.sessions_postgres import StoredRating
from servicekit import Clock, Message, Producer, Unavailable

log = structlog.get_logger(part="feedback")
_AT_ONCE = 500


class RatingStore(SessionFeedbackBackend, Protocol):
    """Backend of ratings that also records which of them are announced."""

    async def unannounced(self, limit: int) -> list[StoredRating]: ...
    async def mark(self, ratings: Sequence[StoredRating]) -> None: ...


class Turns(Protocol):
    async def count(self, tenant: str, project: str | None, conversation_id: str) -> int: ...
    async def only_tenant(self, conversation_id: str) -> str | None: ...
    async def is_of_others(self, tenant: str, conversation_id: str, user_id: str) -> bool: ...


class ThreadOfOthers(Exception):
    """Error for a rating of a thread in which the caller asked nothing. The scope `on_behalf` permits such a rating."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """Request to end a session with a rating.

    `thread_id` is the id of the conversation. If `project` is None, the conversation's turns in all projects belong to
    the session. `speaks_for_others` is True if the caller has the scope on_behalf.
    """

    tenant: str
    project: str | None
    thread_id: str
    user_id: str
    label: Label
    mode: MemoryMode
    idempotency_key: str | None
    speaks_for_others: bool
    source: Source

    @property
    def own_key(self) -> str:
        """Idempotency key of the rating, which allows one rating per person and thread.

        Only a caller with the scope on_behalf can add further ratings, with its own keys. A person could otherwise add
        any number of ratings.
        """
        named = [self.idempotency_key] if self.speaks_for_others and self.idempotency_key is not None else []
        return str(derived_id("session rating", self.thread_id, self.user_id, *named))


class SessionAnnouncer:
    """Publisher of ratings.

    A rating is marked after it was published, so it is published at least once, always with the same event id.
    """

    def __init__(self, ratings: RatingStore, producer: Producer) -> None:
        self._ratings = ratings
        self._producer = producer

    async def sweep(self) -> None:
        """Publish all ratings that are not marked as announced. Raises errors of the database and the log."""
        while waiting := await self._ratings.unannounced(_AT_ONCE):
            await self._producer.send([announcement(rating) for rating in waiting])
            await self._ratings.mark(waiting)


class Sessions:
    """Intake of session ends in one process.

    Ratings are written to `ratings`, and read through `kept`, which sees only one tenant's ratings at a time.
    `announce` starts the announcement of stored ratings. Ratings of incognito sessions are kept in memory and never
    announced.
    """

    def __init__(
        self,
        turns: Turns,
        ratings: RatingStore,
        kept: SessionFeedbackBackend,
        announce: Callable[[], None],
        clock: Clock,
        *,
        seconds: float,
        days: int,
    ) -> None:
        self._turns = turns
        self._ratings = ratings
        self._kept = kept
        self._announce = announce
        self._clock = clock
        self._seconds = seconds
        self._kept_for = timedelta(days=days)
        self._incognito = MemoryBackend()

    async def end(self, end: SessionEnd) -> None:
        """Store the rating of a session within `seconds`. A failure is logged and raises nothing."""
        incognito = end.mode is MemoryMode.INCOGNITO
        kept = await record_session_feedback(
            end.thread_id,
            end.label,
            end.source,
            turn_count=lambda: self._turn_count(end),
            mode=end.mode,
            user_id=end.user_id,
            tenant=end.tenant,
            idempotency_key=end.own_key,
            backend=self._incognito if incognito else self._ratings,
            seconds=self._seconds,
        )
        if kept is not None and not incognito:
            self._announce()

    async def tenant_of(self, thread_id: str) -> str | None:
        """Return the only tenant with turns of the thread; None if no tenant, or more than one, has turns of it.

        Also return None if the database does not respond within half of `seconds`.
        """
        try:
            return await within(self._seconds / 2, self._turns.only_tenant(thread_id))
        except (Unavailable, TimeoutError) as error:
            log.warning("thread_tenant_unknown", why=str(error) or "slow")
            return None

    async def _turn_count(self, end: SessionEnd) -> int:
        """Return the number of turns of the thread. Raises ThreadOfOthers if the caller may not rate the thread."""
        if not end.speaks_for_others and await self._turns.is_of_others(end.tenant, end.thread_id, end.user_id):
            raise ThreadOfOthers
        return await self._turns.count(end.tenant, end.project, end.thread_id)

    async def count(self, tenant: str, thread_id: str, user_id: str | None = None) -> int:
        """Return the number of a person's ratings of a thread, or of all people's ratings if `user_id` is None.

        Ratings of incognito sessions have no user, so they count only if `user_id` is None. They are known only to the
        process that received them.
        """
        session = opaque(thread_id)
        here = await self._incognito.alist_by_session(session, tenant=tenant)
        kept = await within(self._seconds, self._kept.alist_by_session(session, tenant=tenant))
        return sum(user_id in (None, one.user_id_or_null) for one in (*here, *kept))

    async def purge(self) -> None:
        """Delete expired ratings of incognito sessions. Stored ratings are deleted by the table's retention."""
        limit = datetime.fromtimestamp(self._clock.now() / 1_000_000, UTC) - self._kept_for
        await self._incognito.apurge_before(limit)


def announcement(rating: StoredRating) -> Message:
    """Return the Kafka record that announces a rating. Equal ratings give equal records."""
    tenant, record = rating
    event = FeedbackSessionCreated(
        event_id=str(derived_id(tenant, SESSION_CREATED.name, str(record.id))),
        occurred_at=parse_instant(record.recorded_at),
        tenant=tenant,
        id=record.id,
        session_id_opaque=record.session_id_opaque,
        user_id_or_null=record.user_id_or_null,
        recorded_at=parse_instant(record.recorded_at),
        label=record.label,
        turn_count_at_end=record.turn_count_at_end,
        source=record.source,
        idempotency_key=record.idempotency_key,
    )
    return Message.of(SESSION_CREATED, event)
