"""Storage of waiting and dead deliveries in the table `deliveries`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from typing import Final

import asyncpg

from reporting.webhooks.payload import WebhookDelivery
from servicekit.db.statements import columns_of

_COLUMNS: Final = "endpoint, subject, event_id, topic, revision, tenant, user_id, occurred_at, event"
_ADD: Final = f"""
insert into deliveries as d ({_COLUMNS}, created_at, next_at)
select *, $10, $10 from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[],
    $8::bigint[], $9::text[])
on conflict (endpoint, subject) do update set event_id = excluded.event_id, revision = excluded.revision,
    user_id = excluded.user_id, occurred_at = excluded.occurred_at, event = excluded.event,
    created_at = excluded.created_at, next_at = excluded.next_at, attempts = 0, dead = false, last_answer = null
where d.revision < excluded.revision
"""
_CLAIM: Final = f"""
update deliveries set next_at = $3 where (endpoint, subject) in (
    select endpoint, subject from deliveries where endpoint = $1 and not dead and next_at <= $2
    order by next_at limit $4 for update skip locked)
returning {_COLUMNS}, attempts
"""
_FAILED: Final = """
update deliveries set attempts = $4, next_at = coalesce($5, next_at), dead = $5::bigint is null, last_answer = $6
where endpoint = $1 and subject = $2 and revision = $3
"""
_COUNTS: Final = """
select endpoint, count(*) filter (where not dead) as waiting, count(*) filter (where dead) as dead,
    min(created_at) as oldest, (array_agg(last_answer order by next_at desc) filter (where last_answer is not null))[1]
        as last_answer
from deliveries where tenant = $1 group by endpoint
"""


@dataclass(frozen=True, slots=True)
class Count:
    """Delivery counts of an endpoint. `oldest` is in microseconds; `last_answer` is a status or an error name."""

    waiting: int
    dead: int
    oldest: int
    last_answer: str | None


class Deliveries:
    """Deliveries by endpoint and subject; a later revision replaces an undelivered earlier one."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def add(self, deliveries: Collection[WebhookDelivery], now: int) -> None:
        """Insert deliveries, due at `now` (microseconds); at most one per endpoint and subject."""
        rows = sorted(astuple(one)[:9] for one in deliveries)
        if rows:
            await self._pool.execute(_ADD, *columns_of(rows, 9), now)

    async def drop(self, ended: Collection[tuple[str, int]]) -> None:
        """Delete the deliveries of these (subject, revision) pairs, up to the given revision."""
        subjects, revisions = columns_of(sorted(ended), 2)
        await self._pool.execute(
            "delete from deliveries d using unnest($1::text[], $2::bigint[]) as ended (subject, revision) "
            "where d.subject = ended.subject and d.revision <= ended.revision",
            subjects,
            revisions,
        )

    async def claim(self, endpoint: str, now: int, until: int, limit: int) -> Sequence[WebhookDelivery]:
        """Return up to `limit` due deliveries; they are not due again before `until`. Times are in microseconds."""
        return [WebhookDelivery(**row) for row in await self._pool.fetch(_CLAIM, endpoint, now, until, limit)]

    async def delivered(self, one: WebhookDelivery) -> None:
        await self._pool.execute(
            "delete from deliveries where endpoint = $1 and subject = $2 and revision = $3",
            one.endpoint,
            one.subject,
            one.revision,
        )

    async def failed(self, one: WebhookDelivery, again_at: int | None, answer: str) -> None:
        """Record a failed attempt. The delivery is retried at `again_at` (microseconds), or dead if that is None."""
        await self._pool.execute(_FAILED, one.endpoint, one.subject, one.revision, one.attempts + 1, again_at, answer)

    async def counts(self, tenant: str) -> dict[str, Count]:
        """Return the delivery counts of each endpoint with deliveries of the tenant."""
        rows = await self._pool.fetch(_COUNTS, tenant)
        return {row["endpoint"]: Count(row["waiting"], row["dead"], row["oldest"], row["last_answer"]) for row in rows}

    async def replay(self, tenant: str, endpoint: str, now: int) -> int:
        """Make the endpoint's dead and waiting deliveries due at `now` (microseconds). Return their number."""
        done = await self._pool.execute(
            "update deliveries set dead = false, attempts = 0, next_at = $3 where tenant = $1 and endpoint = $2",
            tenant,
            endpoint,
            now,
        )
        return int(done.rpartition(" ")[2])
