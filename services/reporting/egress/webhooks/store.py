"""Store waiting and dead deliveries in the table `deliveries`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass

import asyncpg

from reporting.egress.webhooks.payload import WebhookDelivery
from reporting.sql import SQL


@dataclass(frozen=True, slots=True)
class Count:
    """Delivery counts of an endpoint. `oldest` is in microseconds; `last_answer` is a status or an error's name."""

    waiting: int
    dead: int
    oldest: int
    last_answer: str | None


class Deliveries:
    """Table of deliveries by endpoint and subject. A later revision replaces an undelivered earlier revision."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def add(self, deliveries: Collection[WebhookDelivery], now: int) -> None:
        """Upsert deliveries, due at `now` (microseconds). `deliveries` has at most one per endpoint and subject."""
        rows = sorted(astuple(one)[:10] for one in deliveries)
        if rows:
            await self._pool.execute(*SQL.upsert_deliveries.bulk(rows, now=now))

    async def drop(self, ended: Collection[tuple[str, int]]) -> None:
        """Delete the deliveries of each subject up to its revision; `ended` contains (subject, revision) pairs."""
        await self._pool.execute(*SQL.drop_deliveries.bulk(sorted(ended)))

    async def claim(self, endpoint: str, now: int, until: int, limit: int) -> Sequence[WebhookDelivery]:
        """Return up to `limit` due deliveries, and make them due again at `until`. Times are in microseconds."""
        statement = SQL.claim_deliveries(endpoint=endpoint, now=now, until=until, limit=limit)
        return [WebhookDelivery(**row) for row in await self._pool.fetch(*statement)]

    async def delivered(self, one: WebhookDelivery) -> None:
        of = {"endpoint": one.endpoint, "subject": one.subject, "revision": one.revision}
        await self._pool.execute(*SQL.delete_delivered(**of))

    async def failed(self, one: WebhookDelivery, again_at: int | None, answer: str) -> None:
        """Record a failed attempt. The delivery is retried at `again_at` (microseconds), or is dead if that is None."""
        of = {"endpoint": one.endpoint, "subject": one.subject, "revision": one.revision}
        statement = SQL.note_failure(**of, attempts=one.attempts + 1, next_at=again_at, answer=answer)
        await self._pool.execute(*statement)

    async def counts(self, tenant: str) -> dict[str, Count]:
        """Return the tenant's delivery counts by endpoint, for endpoints with deliveries."""
        rows = await self._pool.fetch(*SQL.count_deliveries(tenant=tenant))
        return {row["endpoint"]: Count(row["waiting"], row["dead"], row["oldest"], row["last_answer"]) for row in rows}

    async def replay(self, tenant: str, endpoint: str, now: int) -> int:
        """Make the endpoint's dead and waiting deliveries due at `now` (microseconds). Return their number."""
        done = await self._pool.execute(*SQL.replay_deliveries(tenant=tenant, endpoint=endpoint, now=now))
        return int(done.rpartition(" ")[2])
