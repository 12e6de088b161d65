"""Boundary values: a window's last instant, an explicit null, two events at the same instant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from contracts.instants import format_instant
from reporting.http.conversations import conversations_router
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, batch, feedback

PROJECT = "/conversations/acme/support"
SECOND = 1_000_000


@pytest.fixture
async def http(read_models: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    async with client([conversations_router(read_models, FixedClock(START + 3_600 * SECOND))]) as opened:
        yield opened


async def take(read_models: asyncpg.Pool, *events: Any) -> None:
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*events))


async def in_period(http: httpx.AsyncClient, start: int, end: int) -> list[str]:
    """Return the conversations with a reaction in a window in microseconds from START."""
    body = {"start": format_instant(START + start), "end": format_instant(START + end)}
    answer = await http.post(f"{PROJECT}/feedback/conversations-in-period", json=body)
    assert answer.status_code == 200, answer.text
    return [item["conversation_id"] for item in answer.json()["items"]]


async def test_a_period_includes_both_of_its_ends(read_models: asyncpg.Pool, http: httpx.AsyncClient) -> None:
    await take(read_models, feedback("f1", at=10))
    at = 10 * SECOND
    assert await in_period(http, at, at + 1) == ["c1"], "its first moment"
    assert await in_period(http, at - 1, at) == ["c1"], "its last moment"
    assert await in_period(http, at + 1, at + 2) == []
    assert await in_period(http, at - 2, at - 1) == []


async def latest(http: httpx.AsyncClient) -> list[tuple[str, str | None, str | None]]:
    items = (await http.post(f"{PROJECT}/c1/feedback/latest", json={})).json()["items"]
    return [(item["turn_id"], item["reaction"], item["text"]) for item in items]


async def test_an_explicit_null_stands_above_an_older_emoji(read_models: asyncpg.Pool, http: httpx.AsyncClient) -> None:
    await take(
        read_models,
        feedback("thumb", kind="reaction", reaction="ok", at=5, recorded=6),
        feedback("said", kind="explicit", reaction=None, at=20, recorded=21),
    )
    assert await latest(http) == [("t1", None, None)]


async def test_an_emoji_that_was_taken_away_does_not_stand_above_an_older_judgement(
    read_models: asyncpg.Pool, http: httpx.AsyncClient
) -> None:
    await take(
        read_models,
        feedback("said", kind="explicit", reaction="not_ok", at=5, recorded=6, text="no"),
        feedback("thumb", kind="reaction", reaction=None, at=20, recorded=21, revision=2),
    )
    assert await latest(http) == [("t1", "not_ok", "no")]


async def test_an_emoji_after_an_explicit_null_stands_again(read_models: asyncpg.Pool, http: httpx.AsyncClient) -> None:
    await take(
        read_models,
        feedback("said", kind="explicit", reaction=None, at=5, recorded=6),
        feedback("thumb", kind="reaction", reaction="ok", at=20, recorded=21),
    )
    assert await latest(http) == [("t1", "ok", None)]
