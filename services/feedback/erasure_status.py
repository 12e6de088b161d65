"""Progress of erasures: the requests, and their confirmations by the services that store user data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, get_args

import asyncpg

from contracts.erasure import erasure_of, latest
from contracts.feedback import FeedbackErasureConfirmed, FeedbackErasureRequested, FeedbackKeeper
from feedback.sql import SQL
from feedback.turn_erasures import TurnErasures
from servicekit import Handler, Outcome, Received

KEEPERS: Final[tuple[FeedbackKeeper, ...]] = get_args(FeedbackKeeper)
"""Services that store user data. An erasure is complete when all of them have confirmed it."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A service's confirmation of an erasure.

    Attributes:
        confirmed_at: Time of the confirmation in microseconds.
        removed: Number of rows that the service changed or deleted.
    """

    service: FeedbackKeeper
    confirmed_at: int
    removed: int


@dataclass(frozen=True, slots=True)
class ErasureStatus:
    """Status of an erasure request, with the confirmations so far.

    `requested_at` is in microseconds.
    """

    request_id: str
    user_id: str
    requested_at: int
    receipts: Sequence[Receipt] = field(default=())

    @property
    def missing(self) -> list[FeedbackKeeper]:
        """Services that have not yet confirmed the erasure."""
        confirmed = {receipt.service for receipt in self.receipts}
        return [service for service in KEEPERS if service not in confirmed]


class ErasureStatuses(Protocol):
    async def note(
        self,
        requests: Collection[FeedbackErasureRequested],
        confirmations: Collection[tuple[FeedbackErasureConfirmed, int]],
    ) -> None:
        """Store requests and confirmations, and commit.

        Args:
            confirmations: Confirmations with their log times in microseconds.
        """
        ...

    async def find(self, tenant: str, request_id: str) -> ErasureStatus | None:
        """Return the status of a request, or None if the tenant has no such request."""
        ...


class ErasureStatusHandler(Handler):
    """Handler of the consumer group `feedback_erasures`, which stores erasure requests and their confirmations.

    Requests and confirmations may arrive in any order. Before a request is stored, the person is erased from the turn
    registry and the ratings.
    """

    def __init__(self, statuses: ErasureStatuses, turns: TurnErasures) -> None:
        self._statuses = statuses
        self._turns = turns

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        requests = latest(
            erasure_of(received.event, received.first_log_time)
            for received in batch
            if isinstance(received.event, FeedbackErasureRequested)
        )
        await self._turns.ledger.note(requests.values())
        await self._turns.erase(await self._turns.ledger.erased_at(requests))
        await self._statuses.note(
            [received.event for received in batch if isinstance(received.event, FeedbackErasureRequested)],
            [
                (received.event, received.log_time)
                for received in batch
                if isinstance(received.event, FeedbackErasureConfirmed)
            ],
        )
        return [Outcome.STORED] * len(batch)


class PostgresErasureStatuses:
    """PostgreSQL implementation of `ErasureStatuses`.

    If a service confirms an erasure twice, the first confirmation is kept.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(
        self,
        requests: Collection[FeedbackErasureRequested],
        confirmations: Collection[tuple[FeedbackErasureConfirmed, int]],
    ) -> None:
        asked = sorted((one.tenant, one.request_id, one.user_id, one.occurred_at) for one in requests)
        confirmed = sorted((one.tenant, one.request_id, one.service, one.removed, at) for one, at in confirmations)
        async with self._pool.acquire() as connection, connection.transaction():
            if asked:
                await connection.execute(*SQL.note_erasure_requests.bulk(asked))
            if confirmed:
                await connection.execute(*SQL.note_erasure_receipts.bulk(confirmed))

    async def find(self, tenant: str, request_id: str) -> ErasureStatus | None:
        rows = await self._pool.fetch(*SQL.erasure_status(tenant=tenant, request_id=request_id))
        if not rows:
            return None
        receipts = [Receipt(row["service"], row["confirmed_at"], row["removed"]) for row in rows if row["service"]]
        return ErasureStatus(request_id, rows[0]["user_id"], rows[0]["requested_at"], receipts)
