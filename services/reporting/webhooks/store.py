"""The table `deliveries`: what is still to be handed over, and what was given up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from typing import Final

import asyncpg

from reporting.webhooks.payload import Delivery
from servicekit.db.pools import columns_of

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
    """State of an endpoint. `oldest` in microseconds; `last_answer` is a status or the name of an error."""

    waiting: int
    dead: int
    oldest: int
    last_answer: str | None


class Deliveries:
    """Rows by endpoint and subject: a later revision takes the place of one that was not handed over yet."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def add(self, deliveries: Collection[Delivery], now: int) -> None:
        """Keep what is to be handed over from `now` on (microseconds). At most one of an endpoint and subject."""
        rows = sorted(astuple(one)[:9] for one in deliveries)
        if rows:
            await self._pool.execute(_ADD, *columns_of(rows, 9), now)

    async def drop(self, ended: Collection[tuple[str, int]]) -> None:
        """Forget whatever is about these subjects, up to their revision."""
        subjects, revisions = columns_of(sorted(ended), 2)
        await self._pool.execute(
            "delete from deliveries d using unnest($1::text[], $2::bigint[]) as ended (subject, revision) "
            "where d.subject = ended.subject and d.revision <= ended.revision",
            subjects,
            revisions,
        )

    async def claim(self, endpoint: str, now: int, until: int, limit: int) -> Sequence[Delivery]:
        """The next ones that are due; nobody else is given them before `until`. Times in microseconds."""
        return [Delivery(**row) for row in await self._pool.fetch(_CLAIM, endpoint, now, until, limit)]

    async def delivered(self, one: Delivery) -> None:
        await self._pool.execute(
            "delete from deliveries where endpoint = $1 and subject = $2 and revision = $3",
            one.endpoint,
            one.subject,
            one.revision,
        )

    async def failed(self, one: Delivery, again_at: int | None, answer: str) -> None:
        """Note an attempt that failed; without a time to try again it is dead."""
        await self._pool.execute(_FAILED, one.endpoint, one.subject, one.revision, one.attempts + 1, again_at, answer)

    async def counts(self, tenant: str) -> dict[str, Count]:
        """Return the state of each endpoint that has rows of the tenant."""
        rows = await self._pool.fetch(_COUNTS, tenant)
        return {row["endpoint"]: Count(row["waiting"], row["dead"], row["oldest"], row["last_answer"]) for row in rows}

    async def replay(self, tenant: str, endpoint: str, now: int) -> int:
        """Make the endpoint's dead and waiting ones due at `now`. Returns how many."""
        done = await self._pool.execute(
            "update deliveries set dead = false, attempts = 0, next_at = $3 where tenant = $1 and endpoint = $2",
            tenant,
            endpoint,
            now,
        )
        return int(done.rpartition(" ")[2])
