"""Notices of resolved issues.

Each person who rejected an answer of the issue gets one `feedback.resolved` event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import asyncpg

from contracts.feedback import FeedbackResolved, ResolvedTurn
from contracts.ids import derived_id
from contracts.instants import DAY, MINUTE
from contracts.topics import FEEDBACK_RESOLVED
from reporting.issues.store import writing
from reporting.sql import SQL
from servicekit import Clock, Message, Producer

_AT_ONCE: Final = 500


class ResolutionNotice(NamedTuple):
    """Row of the table `resolution_notices` without the column `announced`. Times are in microseconds."""

    issue_id: int
    resolution: int
    user_id: str
    tenant: str
    project: str
    agent_id: str
    resolved_in: str | None
    resolved_at: int
    by_person: bool
    rejected_at: int
    turn_count: int
    conversation_ids: Sequence[str]
    turn_ids: Sequence[str]


def announcement(one: ResolutionNotice) -> Message:
    """Return the `feedback.resolved` message for a notice. The same notice always gives the same message."""
    event = FeedbackResolved(
        event_id=str(derived_id(FEEDBACK_RESOLVED.name, one.tenant, one.issue_id, one.resolution, one.user_id)),
        occurred_at=one.resolved_at,
        tenant=one.tenant,
        project=one.project,
        user_id=one.user_id,
        issue_id=one.issue_id,
        resolution=one.resolution,
        resolved_in=one.resolved_in,
        agent_id=one.agent_id,
        origin="user" if one.by_person else "machine",
        rejected_at=one.rejected_at,
        turn_count=one.turn_count,
        turns=tuple(
            ResolvedTurn(conversation_id=conversation, turn_id=turn)
            for conversation, turn in zip(one.conversation_ids, one.turn_ids, strict=True)
        ),
    )
    return Message.of(FEEDBACK_RESOLVED, event)


class ResolutionAnnouncer:
    """Publisher of `feedback.resolved` events, one for each person and resolution.

    An event may be published twice, with the same content.

    Args:
        minutes: Time between the resolution and its events. Nothing is published if the issue is no longer resolved
            after this time.
        days: Maximum age of a resolution for new events. A rejection from before the resolution that is stored late
            still causes an event in this period.
    """

    def __init__(self, pool: asyncpg.Pool, producer: Producer, clock: Clock, *, minutes: float, days: float) -> None:
        self._pool = pool
        self._producer = producer
        self._clock = clock
        self._after = int(minutes * MINUTE)
        self._within = int(days * DAY)

    async def sweep(self) -> int:
        """Publish all notices that are due, and return the number of people notified.

        Concurrent erasures wait until the log has acknowledged the events. Erased people are not notified. Database and
        log errors are raised.
        """
        now = self._clock.now()
        async with writing(self._pool) as connection:
            await connection.execute(*SQL.insert_notices(since=now - self._within, until=now - self._after))
        told = 0
        while sent := await self._announce():
            told += sent
        return told

    async def _announce(self) -> int:
        async with writing(self._pool) as connection:
            rows = await connection.fetch(*SQL.unannounced_notices(limit=_AT_ONCE))
            waiting = [ResolutionNotice(*row) for row in rows]
            if waiting:
                await self._producer.send([announcement(one) for one in waiting])
                await connection.execute(*SQL.mark_notices_announced.bulk([one[:3] for one in waiting]))
        return len(waiting)
