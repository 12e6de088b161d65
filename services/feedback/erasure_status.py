"""Progress of erasures: the requests, and their confirmations by the services that store user data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import asyncpg
from pydantic import BaseModel, Field

from contracts.erasure import erasure_of, latest
from contracts.feedback import FeedbackErasureConfirmed, FeedbackErasureRequested, ServiceName
from contracts.instants import format_instant
from feedback.sql import SQL
from feedback.turn_erasures import TurnErasures
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received


class ErasureReceipt(BaseModel):
    """Confirmation by a service that it has removed the person's data from its store."""

    service: ServiceName = Field(description="The service.", examples=["reporting"])
    confirmed_at: str = Field(description="Time of the confirmation, in UTC.", examples=["2026-11-20T09:30:00.000000Z"])
    removed: int = Field(description="Number of rows that the service changed or deleted.", examples=[12])


class ErasureProgress(BaseModel):
    """Progress of an erasure: the services that have confirmed it and those that have not."""

    request_id: str = Field(description="The request's id.", examples=["8d0f0d0e-1f5f-4b8a-9f1d-2f6d1f0a7f11"])
    user_id: str = Field(description="The person to be erased.", examples=["user-42"])
    requested_at: str = Field(description="Time of the request, in UTC.", examples=["2026-11-20T09:29:59.000000Z"])
    complete: bool = Field(description="True if every service has confirmed.", examples=[False])
    receipts: list[ErasureReceipt] = Field(description="The services that have confirmed.")
    missing: list[ServiceName] = Field(description="The services that have not confirmed.", examples=[["inference"]])


async def progress_of(pool: asyncpg.Pool, tenant: str, request_id: str) -> ErasureProgress | None:
    """Return the progress of a request, or None if the tenant has no such request."""
    rows = await pool.fetch(*SQL.erasure_status(tenant=tenant, request_id=request_id))
    if not rows:
        return None
    receipts = [
        ErasureReceipt(service=row["service"], confirmed_at=format_instant(row["confirmed_at"]), removed=row["removed"])
        for row in rows
        if row["service"]
    ]
    confirmed = {receipt.service for receipt in receipts}
    missing = [service for service in get_args(ServiceName) if service not in confirmed]
    return ErasureProgress(
        request_id=request_id,
        user_id=rows[0]["user_id"],
        requested_at=format_instant(rows[0]["requested_at"]),
        complete=not missing,
        receipts=receipts,
        missing=missing,
    )


class ErasureStatusHandler(Handler):
    """Handler of the consumer group `feedback_erasures`, which stores erasure requests and their confirmations.

    Requests and confirmations may arrive in any order. If a service confirms an erasure twice, the first one is kept.
    Before a request is stored, the person is erased from the turn registry and the ratings.
    """

    def __init__(self, pool: asyncpg.Pool, turns: TurnErasures) -> None:
        self._pool = pool
        self._turns = turns

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        requests = [received for received in batch if isinstance(received.event, FeedbackErasureRequested)]
        erasures = latest(erasure_of(request.event, request.first_log_time) for request in requests)
        await self._turns.ledger.note(erasures.values())
        await self._turns.erase(await self._turns.ledger.erased_at(erasures))
        events = [request.event for request in requests]
        requested = sorted((event.tenant, event.request_id, event.user_id, event.occurred_at) for event in events)
        confirmed = sorted(
            (event.tenant, event.request_id, event.service, event.removed, received.log_time)
            for received in batch
            for event in [received.event]
            if isinstance(event, FeedbackErasureConfirmed)
        )
        async with self._pool.acquire() as connection, connection.transaction():
            if requested:
                await connection.execute(*SQL.note_erasure_requests.bulk(requested))
            if confirmed:
                await connection.execute(*SQL.note_erasure_receipts.bulk(confirmed))
        return [Outcome.STORED] * len(batch)
