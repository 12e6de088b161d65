"""Ends of sessions: a rating is kept, then announced as `feedback.session.created`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from agent_feedback_kit.answers import Label
from agent_feedback_kit.deadlines import within
from agent_feedback_kit.sessions.backend import MemoryBackend, SessionFeedbackBackend
from agent_feedback_kit.sessions.record import MemoryMode, SessionFeedbackRecord, Source, opaque
from agent_feedback_kit.sessions.recorder import record_session_feedback
from contracts.feedback import FeedbackSessionCreated
from contracts.ids import derived_id
from contracts.instants import parse_instant
from contracts.topics import SESSION_CREATED
from feedback.sessions_postgres import KeptRating
from servicekit.clock import Clock
from servicekit.error_kinds import is_transient
from servicekit.errors import Unavailable
from servicekit.log.messages import Message, Producer
from servicekit.logging import frames, logger

log = logger("feedback")
_AT_ONCE = 500


class Ratings(SessionFeedbackBackend, Protocol):
    """A backend that remembers which of its ratings were announced."""

    async def unannounced(self, limit: int) -> list[KeptRating]: ...
    async def mark(self, ratings: Sequence[KeptRating]) -> None: ...


class Turns(Protocol):
    async def count(self, tenant: str, project: str | None, conversation_id: str) -> int: ...
    async def only_tenant(self, conversation_id: str) -> str | None: ...
    async def is_of_others(self, tenant: str, conversation_id: str, user_id: str) -> bool: ...


class ThreadOfOthers(Exception):
    """A person without the scope on_behalf rated a thread in which others asked, and they did not."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """A caller's input at the end of a session. The thread is a conversation; `project` None means all the tenant's.

    `speaks_for_others` is True if the caller has the scope on_behalf.
    """

    tenant: str
    project: str | None
    thread_id: str
    user_id: str
    label: Label
    mode: MemoryMode = MemoryMode.LOCAL
    idempotency_key: str | None = None
    speaks_for_others: bool = False
    source: Source = "api_end"

    @property
    def own_key(self) -> str:
        """The key under which a rating counts once: the person and the thread.

        Only a caller that speaks for others counts further ratings, by keys of its own: else a person could add as
        many as they like.
        """
        named = [self.idempotency_key] if self.speaks_for_others and self.idempotency_key is not None else []
        return str(derived_id("session rating", self.thread_id, self.user_id, *named))


class SessionAnnouncer:
    """Publishes every rating that bears no mark, then marks it: at least once, always under the same event id."""

    def __init__(self, ratings: Ratings, producer: Producer) -> None:
        self._ratings = ratings
        self._producer = producer
        self._sweeping = asyncio.Lock()
        self._awake: set[asyncio.Task[None]] = set()

    async def sweep(self) -> None:
        """Announce all that is not announced yet. Raises what the database or the log raises."""
        async with self._sweeping:
            while waiting := await self._ratings.unannounced(_AT_ONCE):
                await self._producer.send([announcement(rating) for rating in waiting])
                await self._ratings.mark(waiting)

    def wake(self) -> None:
        """Start a sweep beside the caller; if it fails, the periodic one makes up for it."""
        if not self._awake:
            task = asyncio.create_task(self._swept())
            self._awake.add(task)
            task.add_done_callback(self._awake.discard)

    async def _swept(self) -> None:
        try:
            await self.sweep()
        except Exception as error:
            level = log.warning if is_transient(error) else log.error
            level("session_announcement_delayed", error=type(error).__name__, where=frames(error))


class Sessions:
    """Keeps ratings in `ratings` and counts them as callers see them, in `kept`.

    Those of incognito sessions stay in this process and are never announced.
    """

    def __init__(
        self,
        turns: Turns,
        ratings: Ratings,
        kept: SessionFeedbackBackend,
        announcer: SessionAnnouncer,
        clock: Clock,
        *,
        seconds: float,
        days: int,
    ) -> None:
        self._turns = turns
        self._ratings = ratings
        self._kept = kept
        self._announcer = announcer
        self._clock = clock
        self._seconds = seconds
        self._kept_for = timedelta(days=days)
        self._incognito = MemoryBackend()

    async def end(self, end: SessionEnd) -> SessionFeedbackRecord | None:
        """Keep a rating, within `seconds`; None where that failed. Never raises."""
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
            self._announcer.wake()
        return kept

    async def tenant_of(self, thread_id: str) -> str | None:
        """Return the one tenant that has turns of the thread; None if none or several have.

        None, too, if the database does not answer in half of the time that a rating has.
        """
        try:
            return await within(self._seconds / 2, self._turns.only_tenant(thread_id))
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("thread_tenant_unknown", error=type(error).__name__)
            return None

    async def _turn_count(self, end: SessionEnd) -> int:
        """Return how many turns the thread has. Raises ThreadOfOthers."""
        if not end.speaks_for_others and await self._turns.is_of_others(end.tenant, end.thread_id, end.user_id):
            raise ThreadOfOthers
        return await self._turns.count(end.tenant, end.project, end.thread_id)

    async def count(self, tenant: str, thread_id: str, user_id: str | None = None) -> int:
        """Return the number of a person's ratings of a thread; of all people if `user_id` is None. Raises Unavailable.

        Those of incognito sessions of this process are nobody's, and counted among all.
        """
        session = opaque(thread_id)
        here = await self._incognito.alist_by_session(session, tenant=tenant)
        try:
            kept = await within(self._seconds, self._kept.alist_by_session(session, tenant=tenant))
        except Exception as error:
            if not is_transient(error):
                raise
            raise Unavailable("the database of session ratings", type(error).__name__) from None
        return sum(user_id in (None, one.user_id_or_null) for one in (*here, *kept))

    async def purge(self) -> None:
        """Remove ratings of incognito sessions older than their retention; `retention.py` has the others."""
        limit = datetime.fromtimestamp(self._clock.now() / 1_000_000, UTC) - self._kept_for
        await self._incognito.apurge_before(limit)


def announcement(rating: KeptRating) -> Message:
    """The record that announces a rating: the same one however often it is made."""
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
    return Message(SESSION_CREATED.name, SESSION_CREATED.key(event), event.model_dump_json(by_alias=True).encode())
