"""Ratings at the end of a session, which are stored and then announced on `feedback.session.created`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from agent_feedback_kit.answers import Label
from agent_feedback_kit.deadlines import within
from agent_feedback_kit.sessions.backend import MemoryBackend
from agent_feedback_kit.sessions.record import MemoryMode, Source, opaque
from agent_feedback_kit.sessions.recorder import record_session_feedback
from contracts.feedback import FeedbackSessionCreated
from contracts.ids import derived_id
from contracts.instants import parse_instant
from contracts.topics import SESSION_CREATED
from feedback.registry import PostgresRegistry
from feedback.sessions_postgres import PostgresSessions, StoredRating
from servicekit.clock import Clock
from servicekit.errors import Unavailable
from servicekit.log.records import Message, Producer

_AT_ONCE = 500


class ThreadOfOthers(Exception):
    """Raised if a person rates a thread in which only other people asked.

    Callers with the scope `on_behalf` may rate such threads.
    """


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """Request to end a session with a rating.

    Attributes:
        project: The project whose turns are counted, or None for all projects.
        thread_id: The id of the conversation.
        speaks_for_others: True if the caller's token has the scope `on_behalf`.
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
    def own_key(self) -> str | None:
        """Idempotency key of the rating, which is unique to the person and the thread.

        Only a caller with the scope `on_behalf` can choose keys. Ratings of incognito sessions have one key per person
        and thread, because their store does not know the person.
        """
        key = self.idempotency_key if self.speaks_for_others else None
        if key is None and self.mode is not MemoryMode.INCOGNITO:
            return None
        return str(derived_id("session rating", self.thread_id, self.user_id, *([] if key is None else [key])))


async def announce_ratings(ratings: PostgresSessions, producer: Producer) -> None:
    """Publish all ratings that were not announced, and mark them. Database and log errors are raised unchanged.

    After a crash before the mark, a rating is published again with the same event id.
    """
    while waiting := await ratings.unannounced(_AT_ONCE):
        await producer.send([announcement(rating) for rating in waiting])
        await ratings.mark(waiting)


class Sessions:
    """Intake of session ends, with or without a rating.

    Ratings of incognito sessions are kept only in this process's memory, and are never announced.

    Args:
        ratings: Store to which ratings are written.
        readable: Store from which ratings are read. It sees only one tenant's ratings at a time.
        announce: Function that triggers the announcement of stored ratings.
        seconds: Timeout for storing a rating, and for counting ratings.
        days: Days after which `purge` deletes ratings of incognito sessions.
    """

    def __init__(
        self,
        turns: PostgresRegistry,
        ratings: PostgresSessions,
        readable: PostgresSessions,
        announce: Callable[[], None],
        clock: Clock,
        *,
        seconds: float,
        days: int,
    ) -> None:
        self._turns = turns
        self._ratings = ratings
        self._readable = readable
        self._announce = announce
        self._clock = clock
        self._seconds = seconds
        self._retention = timedelta(days=days)
        self._incognito = MemoryBackend()

    async def end(self, end: SessionEnd) -> None:
        """Store the rating of a session. A failure or a timeout is logged, not raised."""
        incognito = end.mode is MemoryMode.INCOGNITO
        record = await record_session_feedback(
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
        if record is not None and not incognito:
            self._announce()

    async def _turn_count(self, end: SessionEnd) -> int:
        """Return the number of turns in the thread.

        Raises:
            ThreadOfOthers: The caller may not rate the thread.
        """
        if not end.speaks_for_others and await self._turns.is_of_others(end.tenant, end.thread_id, end.user_id):
            raise ThreadOfOthers
        return await self._turns.count(end.tenant, end.project, end.thread_id)

    async def count(self, tenant: str, thread_id: str, user_id: str | None = None) -> int:
        """Return the number of ratings of a thread by a person, or by all people if `user_id` is None.

        Ratings of incognito sessions have no user, so they are counted only if `user_id` is None. Only the process that
        received them can count them.

        Raises:
            Unavailable: The database does not respond.
        """
        session = opaque(thread_id)
        incognito = await self._incognito.alist_by_session(session, tenant=tenant)
        try:
            stored = await within(self._seconds, self._readable.alist_by_session(session, tenant=tenant))
        except TimeoutError:
            raise Unavailable("the database", f"no answer within {self._seconds:g} s") from None
        return sum(user_id in (None, rating.user_id_or_null) for rating in (*incognito, *stored))

    async def purge(self) -> None:
        """Delete expired ratings of incognito sessions. Stored ratings are deleted by the table's retention."""
        limit = datetime.fromtimestamp(self._clock.now() / 1_000_000, UTC) - self._retention
        await self._incognito.apurge_before(limit)


def announcement(rating: StoredRating) -> Message:
    """Return the Kafka record that announces a rating. Equal ratings give equal records.

    A rating that replaces another one has the same `id`, a later time and another event id.
    """
    tenant, record = rating
    recorded_at = parse_instant(record.recorded_at)
    event_id = str(derived_id(tenant, SESSION_CREATED.name, str(record.id), record.recorded_at))
    fields = asdict(record) | {"recorded_at": recorded_at}
    event = FeedbackSessionCreated(event_id=event_id, occurred_at=recorded_at, tenant=tenant, **fields)
    return Message.of(SESSION_CREATED, event)
