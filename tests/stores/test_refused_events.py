"""Rejected events in PostgreSQL: the newest of each tenant, limited in number and days."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest_asyncio

import chat_bridge.service
from chat_bridge.model import EventRefusal
from chat_bridge.refused_store import RefusedEvents
from servicekit.db.pools import open_pool
from servicekit.log.outcome import Outcome, RecordIds
from tests.support.hand_clock import HandClock

SCHEMA = chat_bridge.sql.SQL.schema
LIMIT = 5


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    opened = await open_pool(postgres_url, "chat_bridge", SCHEMA, size=2)
    await opened.execute("truncate refused")
    yield opened
    await opened.close()


def refusal(number: int, tenant: str = "acme", project: str = "support") -> EventRefusal:
    return EventRefusal(
        tenant, project, "chat.message.ingested", f"e-{number}", "invalid_event", "content: field required"
    )


async def listed(events: RefusedEvents, tenant: str = "acme", project: str = "support") -> list[tuple[str, int]]:
    return [(row["event_id"], row["times"]) for row in await events.since(tenant, project, 0)]


async def test_a_tenant_keeps_its_newest_refusals_and_takes_none_of_anothers_room(pool: asyncpg.Pool) -> None:
    clock = HandClock()
    events = RefusedEvents(pool, clock, LIMIT)
    await events.note([refusal(0, "globex")])
    for number in range(LIMIT + 2):
        clock.forward(1)
        await events.note([refusal(number)])
    assert await listed(events) == [(f"e-{number}", 1) for number in (6, 5, 4, 3, 2)]
    clock.forward(1)
    await events.note([refusal(2), refusal(2)])  # refused again: now the newest
    clock.forward(1)
    await events.note([refusal(7, project="sales")])
    assert await listed(events) == [("e-2", 3), ("e-6", 1), ("e-5", 1), ("e-4", 1)]
    assert await listed(events, project="sales") == [("e-7", 1)]
    assert await listed(events, "globex") == [("e-0", 1)]


async def test_a_refusal_is_counted_at_its_latest_time_by_whatever_clock(pool: asyncpg.Pool) -> None:
    clock = HandClock()
    events = RefusedEvents(pool, clock)
    await events.note([refusal(1)])
    latest = clock.now()
    clock.forward(-5)
    await events.note([refusal(1), refusal(1)])
    [row] = await events.since("acme", "support", 0)
    assert (row["times"], row["refused_at"]) == (3, latest)


async def test_of_dead_letters_the_chat_events_of_a_project_are_listed(pool: asyncpg.Pool) -> None:
    events, ids = RefusedEvents(pool, HandClock()), RecordIds("acme", "support", "e-1", None, None)
    letter = Outcome.dead_lettered("invalid_event", "content: field required")
    chat = "chat.message.ingested"
    await events.note_dead_letters([(chat, ids, letter), (chat, None, letter), ("feedback.erased", ids, letter)])
    [row] = await events.since("acme", "support", 0)
    assert (row["topic"], row["event_id"], row["reason"], row["detail"]) == (chat, "e-1", letter.reason, letter.detail)
