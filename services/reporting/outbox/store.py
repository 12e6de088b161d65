"""Storage of waiting and dead deliveries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import asyncpg

from reporting.outbox.payload import OutboxMessage
from reporting.sql import SQL
from reporting.sql.connection import Connection


class Receiver(NamedTuple):
    """Receiver of deliveries: a webhook endpoint, or the alert channel of a project. An endpoint has no project."""

    receiver: str
    tenant: str
    project: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """Delivery counts of a receiver.

    `oldest` is the arrival time of the oldest message in microseconds, or None without messages. `last_answer` is an
    HTTP status or the name of an error.
    """

    waiting: int = 0
    dead: int = 0
    oldest: int | None = None
    last_answer: str | None = None


class Deliveries:
    """Table of deliveries, with one row per receiver and subject.

    A later revision of a subject replaces an earlier one that has not been delivered yet.
    """

    def __init__(self, pool: asyncpg.Pool | Connection) -> None:
        self._pool = pool

    async def add(self, deliveries: Collection[OutboxMessage], now: int) -> None:
        """Store deliveries that are due at `now` (microseconds), at most one per receiver and subject."""
        if deliveries:
            rows = sorted(astuple(delivery)[:-1] for delivery in deliveries)
            await self._pool.execute(*SQL.upsert_deliveries.bulk(rows, now=now))

    async def drop(self, ended: Collection[tuple[str, int]]) -> None:
        """Delete the deliveries of erased subjects.

        Args:
            ended: Pairs of a subject and its last erased revision. Later revisions are kept.
        """
        await self._pool.execute(*SQL.drop_deliveries.bulk(sorted(ended)))

    async def due_channels(self, now: int) -> list[Receiver]:
        """Return the alert channels that have due messages. The channel with the oldest message comes first."""
        return [Receiver(*row) for row in await self._pool.fetch(*SQL.due_channels(now=now))]

    async def claim(self, receiver: Receiver, now: int, until: int, limit: int) -> Sequence[OutboxMessage]:
        """Claim up to `limit` due deliveries of a receiver. The claim expires at `until` (microseconds)."""
        statement = SQL.claim_deliveries(**receiver._asdict(), now=now, until=until, limit=limit)
        return [OutboxMessage(**row) for row in await self._pool.fetch(*statement)]

    async def delivered(self, delivery: OutboxMessage) -> None:
        await self._pool.execute(*SQL.delete_delivered(**_key(delivery)))

    async def failed(self, delivery: OutboxMessage, again_at: int | None, answer: str) -> None:
        """Record a failed attempt.

        Args:
            again_at: Time of the next attempt in microseconds, or None if the delivery is now dead.
            answer: HTTP status or name of the error.
        """
        attempt = {"attempts": delivery.attempts + 1, "next_at": again_at, "answer": answer}
        await self._pool.execute(*SQL.note_failure(**_key(delivery), **attempt))

    async def counts(self, tenant: str, project: str = "") -> dict[str, Count]:
        """Return the delivery counts of a tenant's endpoints, or of a project's alert channels.

        Receivers without deliveries are omitted.
        """
        rows = await self._pool.fetch(*SQL.count_deliveries(tenant=tenant, project=project))
        return {row["receiver"]: Count(row["waiting"], row["dead"], row["oldest"], row["last_answer"]) for row in rows}

    async def replay(self, receiver: Receiver, now: int) -> int:
        """Make the dead and waiting deliveries of a receiver due now, and return their number."""
        done = await self._pool.execute(*SQL.replay_deliveries(**receiver._asdict(), now=now))
        return int(done.rpartition(" ")[2])


def _key(delivery: OutboxMessage) -> dict[str, Any]:
    return {name: getattr(delivery, name) for name in (*Receiver._fields, "subject", "revision")}
