"""Storage of waiting and dead webhook deliveries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass

import asyncpg

from reporting.outbox.payload import WebhookDelivery
from reporting.sql import SQL


@dataclass(frozen=True, slots=True)
class Count:
    """Delivery counts of an endpoint.

    `oldest` is the arrival time of the oldest event in microseconds. `last_answer` is an HTTP status or the name of an
    error.
    """

    waiting: int
    dead: int
    oldest: int
    last_answer: str | None


class Deliveries:
    """Table of deliveries, with one row per endpoint and subject.

    A later revision of a subject replaces an earlier one that has not been delivered yet.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def add(self, deliveries: Collection[WebhookDelivery], now: int) -> None:
        """Upsert deliveries that are due at `now` (microseconds).

        There must be at most one delivery per endpoint and subject.
        """
        rows = sorted(astuple(delivery)[:10] for delivery in deliveries)
        if rows:
            await self._pool.execute(*SQL.upsert_deliveries.bulk(rows, now=now))

    async def drop(self, ended: Collection[tuple[str, int]]) -> None:
        """Delete the deliveries of erased subjects.

        Args:
            ended: Pairs of a subject and its last erased revision. Later revisions are kept.
        """
        await self._pool.execute(*SQL.drop_deliveries.bulk(sorted(ended)))

    async def claim(self, endpoint: str, now: int, until: int, limit: int) -> Sequence[WebhookDelivery]:
        """Claim up to `limit` due deliveries of an endpoint. The claim expires at `until` (microseconds)."""
        statement = SQL.claim_deliveries(endpoint=endpoint, now=now, until=until, limit=limit)
        return [WebhookDelivery(**row) for row in await self._pool.fetch(*statement)]

    async def delivered(self, delivery: WebhookDelivery) -> None:
        of = {"endpoint": delivery.endpoint, "subject": delivery.subject, "revision": delivery.revision}
        await self._pool.execute(*SQL.delete_delivered(**of))

    async def failed(self, delivery: WebhookDelivery, again_at: int | None, answer: str) -> None:
        """Record a failed attempt.

        Args:
            again_at: Time of the next attempt in microseconds, or None if the delivery is now dead.
            answer: HTTP status or name of the error.
        """
        of = {"endpoint": delivery.endpoint, "subject": delivery.subject, "revision": delivery.revision}
        statement = SQL.note_failure(**of, attempts=delivery.attempts + 1, next_at=again_at, answer=answer)
        await self._pool.execute(*statement)

    async def counts(self, tenant: str) -> dict[str, Count]:
        """Return the delivery counts of a tenant's endpoints. Endpoints without deliveries are omitted."""
        rows = await self._pool.fetch(*SQL.count_deliveries(tenant=tenant))
        return {row["endpoint"]: Count(row["waiting"], row["dead"], row["oldest"], row["last_answer"]) for row in rows}

    async def replay(self, tenant: str, endpoint: str, now: int) -> int:
        """Make the dead and waiting deliveries of an endpoint due now, and return their number."""
        done = await self._pool.execute(*SQL.replay_deliveries(tenant=tenant, endpoint=endpoint, now=now))
        return int(done.rpartition(" ")[2])
