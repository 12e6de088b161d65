"""Store of recently rejected events in PostgreSQL, with a limit per tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

import asyncpg
import structlog

from chat_bridge import metrics
from chat_bridge.model import EventRefusal
from chat_bridge.sql import SQL
from contracts.topics import INBOUND_TOPICS
from servicekit.clock import Clock
from servicekit.log.outcome import Outcome, RecordIds

TENANT_LIMIT: Final = 10_000
"""Maximum number of stored rejections per tenant. The oldest are deleted first."""
SHOWN: Final = 1_000
"""Maximum number of rejections in one response."""
_TOPICS: Final = frozenset(topic.name for topic in INBOUND_TOPICS)

log = structlog.get_logger(part="refused")


class RefusedEvents:
    """Store of rejected events.

    If the events cannot be stored, this is logged, and the producer's request is not affected.

    Args:
        tenant_limit: Maximum number of rows per tenant.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock, tenant_limit: int = TENANT_LIMIT) -> None:
        self._pool = pool
        self._clock = clock
        self._tenant_limit = tenant_limit

    async def note_dead_letters(self, letters: Collection[tuple[str, RecordIds | None, Outcome]]) -> None:
        """Count and store the chat events among dead-lettered records whose project can be read. Never raises.

        Args:
            letters: The topic, the ids and the outcome of each record.
        """
        await self.note(
            [
                EventRefusal(ids.tenant, ids.project, topic, ids.event_id or "", outcome.reason, outcome.detail)
                for topic, ids, outcome in letters
                if ids is not None and topic in _TOPICS
            ]
        )

    async def note(self, refusals: Collection[EventRefusal]) -> None:
        """Count and store rejected events. Never raises."""
        counts = Counter(refusals)
        for refusal, times in counts.items():
            metrics.REFUSED.labels(refusal.topic, refusal.reason).inc(times)
        try:
            await self._keep(counts)
        except Exception as error:
            log.warning("refusals_not_noted", refusals=len(refusals), error=type(error).__name__)

    async def _keep(self, counts: Counter[EventRefusal]) -> None:
        if not counts:
            return
        rows = [(*refusal, times) for refusal, times in sorted(counts.items())]
        await self._pool.execute(*SQL.note_refused.bulk(rows, refused_at=self._clock.now()))
        for tenant in {refusal.tenant for refusal in counts}:
            await self._pool.execute(*SQL.delete_oldest_refused(tenant=tenant, kept=self._tenant_limit))

    async def since(self, tenant: str, project: str, moment: int) -> Sequence[asyncpg.Record]:
        """Return the events of a project that were rejected since `moment` (microseconds), latest first.

        At most SHOWN events are returned.
        """
        statement = SQL.refused_since(tenant=tenant, project=project, moment=moment, limit=SHOWN)
        return list(await self._pool.fetch(*statement))
