"""Ratings at the end of a session, which are stored and then announced on `feedback.session.created`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_feedback_kit.answers import Label
from agent_feedback_kit.deadlines import within
from agent_feedback_kit.sessions.backend import MemoryBackend
from agent_feedback_kit.sessions.record import MemoryMode, opaque
from agent_feedback_kit.sessions.recorder import record_session_feedback
from contracts.base import Id, Name
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


class GivenEnd(BaseModel):
    """The end of a session. If `feedback` is null, the session ends without a rating."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, json_schema_extra={"examples": [{"feedback": "positive"}]}
    )

    feedback: Label | None = Field(
        default=None, description="`positive`, `negative` or `skip`; null records no rating."
    )
    user_id: Id | None = Field(
        default=None, description="The person of the session, if not the caller; needs the scope on_behalf."
    )
    tenant: Name | None = Field(
        default=None, description="The tenant, for a token of all tenants; by default the token's tenant."
    )
    source: Literal["cli_end", "cli_exit", "api_end"] = Field(
        default="api_end",
        description="The interface in which the rating was given: a chat's `/end` (`cli_end`) or "
        "`/exit` (`cli_exit`), or another one.",
    )
    project: Name | None = Field(
        default=None, description="The project whose turns of the thread are counted; by default all projects."
    )
    memory_mode: Literal["local", "synced", "incognito"] = Field(
        default="local",
        description="`incognito`: the rating is stored without the user, only in the process's "
        "memory, and never announced.",
    )
    idempotency_key: Id | None = Field(
        default=None,
        description="With the scope on_behalf, one rating is stored for each key of a person and thread. Without the "
        "scope or without a key, a second rating of a person replaces the first, unless the thread has new turns and "
        "the first rating is older than a minute.",
    )


async def announce_ratings(ratings: PostgresSessions, producer: Producer) -> None:
    """Publish all ratings that are not marked as announced, and mark them. Errors of the database and log are raised.

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

    async def end(
        self,
        tenant: str,
        project: str | None,
        thread_id: str,
        user_id: str,
        given: GivenEnd,
        *,
        speaks_for_others: bool,
    ) -> None:
        """Store the rating of a session, if there is one. A failure or a timeout is logged, not raised.

        Only a caller that speaks for others can choose keys and rate threads in which only other people asked. A key is
        unique to the person and the thread. Ratings of incognito sessions have one key per person and thread, because
        their store does not know the person.

        Args:
            project: The project whose turns are counted, or None for all projects.
            thread_id: The id of the conversation.
            speaks_for_others: True if the caller's token has the scope `on_behalf`.
        """
        if given.feedback is None:
            return
        mode = MemoryMode(given.memory_mode)
        incognito = mode is MemoryMode.INCOGNITO
        key = given.idempotency_key if speaks_for_others else None
        own_key = str(derived_id("session rating", thread_id, user_id, *([] if key is None else [key])))

        async def turn_count() -> int:
            turns, of_others = await self._turns.count(tenant, project, thread_id, user_id)
            if of_others and not speaks_for_others:
                raise ThreadOfOthers
            return turns

        record = await record_session_feedback(
            thread_id,
            given.feedback,
            given.source,
            turn_count=turn_count,
            mode=mode,
            user_id=user_id,
            tenant=tenant,
            idempotency_key=own_key if incognito or key is not None else None,
            backend=self._incognito if incognito else self._ratings,
            seconds=self._seconds,
        )
        if record is not None and not incognito:
            self._announce()

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
