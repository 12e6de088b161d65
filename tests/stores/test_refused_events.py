"""Rejected events in PostgreSQL: the newest of each tenant, limited in number and days."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest_asyncio
from prometheus_client import REGISTRY

import chat_bridge.service
from chat_bridge.refused import EventRefusal
from chat_bridge.refused_store import SHOWN, RefusedEvents
from servicekit.db.pools import open_pool
from tests.support.hand_clock import HandClock

SCHEMA = chat_bridge.sql.SQL.schema
LIMIT = 5


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    opened = await open_pool(postgres_url, "chat_bridge", SCHEMA, size=2)
    await opened.execute("truncate refused")
    yield opened
    await opened.close()


def told(rule: str, topic: str = "chat.message.ingested", event_id: str = "e-1", field: str = "a") -> EventRefusal:
    return EventRefusal("acme", "support", topic, event_id, field, rule)


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


async def test_the_newest_are_listed_and_no_more_than_a_thousand(pool: asyncpg.Pool) -> None:
    clock = HandClock()
    events = RefusedEvents(pool, clock)
    await events.note([refusal(number) for number in range(SHOWN)])
    clock.forward(1)
    await events.note([refusal(SHOWN), refusal(SHOWN, project="sales"), refusal(SHOWN, "globex")])
    found = await listed(events)
    assert len(found) == 1_000
    assert found[0] == (f"e-{SHOWN}", 1)


async def test_a_refusal_is_counted_at_its_latest_time_by_whatever_clock(pool: asyncpg.Pool) -> None:
    clock = HandClock()
    events = RefusedEvents(pool, clock)
    await events.note([refusal(1)])
    latest = clock.now()
    clock.forward(-5)
    await events.note([refusal(1), refusal(1)])
    [row] = await events.since("acme", "support", 0)
    assert (row["times"], row["refused_at"]) == (3, latest)


def counted(one: EventRefusal) -> float:
    labels = {"topic": one.topic, "field": one.field, "rule": one.rule}
    return REGISTRY.get_sample_value("agent_feedback_refused_events_total", labels) or 0.0


async def test_refusals_are_counted_each_time_even_without_a_database(postgres_url: str) -> None:
    pool = await open_pool(postgres_url, "chat_bridge", SCHEMA, size=1)
    await pool.close()
    one, other = told("counted"), told("counted otherwise")
    before = counted(one), counted(other)
    await RefusedEvents(pool, HandClock()).note([one, other, one])
    await RefusedEvents(pool, HandClock()).note([])
    assert (counted(one) - before[0], counted(other) - before[1]) == (2, 1)
