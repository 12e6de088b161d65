"""Rejected events in PostgreSQL: the newest of each tenant, limited in number and days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest_asyncio

import chat_bridge.service
from chat_bridge.refused import EventRefusal
from chat_bridge.refused_store import RefusedEvents
from chat_bridge.settings import ChatBridgeSettings
from servicekit.db.pools import open_pool
from servicekit.db.retention import Retention
from tests.support.hand_clock import HandClock

MIGRATIONS = Path(chat_bridge.service.__file__).parent / "migrations"
LIMIT = 5


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    opened = await open_pool(postgres_url, "chat_bridge", MIGRATIONS, size=2)
    await opened.execute("truncate refused")
    yield opened
    await opened.close()


def refusal(number: int, tenant: str = "acme", project: str = "support") -> EventRefusal:
    return EventRefusal(tenant, project, "chat.message.ingested", f"e-{number}", "content", "field required")


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


async def test_one_batch_beyond_the_bound_is_cut_to_it(pool: asyncpg.Pool) -> None:
    events = RefusedEvents(pool, HandClock(), LIMIT)
    await events.note([refusal(number) for number in range(3 * LIMIT)])
    assert len(await listed(events)) == LIMIT


async def test_a_refusal_is_listed_for_its_days(pool: asyncpg.Pool) -> None:
    clock = HandClock()
    events = RefusedEvents(pool, clock)
    await events.note([refusal(1)])
    clock.forward(1)
    await events.note([refusal(2)])
    retention = Retention(
        "chat_bridge", pool, clock, chat_bridge.service.PROGRAM.expiries(ChatBridgeSettings(refused_days=2))
    )
    clock.forward(2 * 86_400 - 1)
    assert await retention.sweep() == {}
    clock.forward(1)
    assert await retention.sweep() == {"refused": 1}
    assert await listed(events) == [("e-2", 1)]
