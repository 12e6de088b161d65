"""A polling reader sees every update, independently of concurrent writers and of commit order."""

from __future__ import annotations

import random
from typing import Any

import asyncpg
import httpx
import pytest

from contracts.feedback import FeedbackCreated
from reporting.http.conversations import conversations_router
from reporting.model.projection import feedback_row, newest_feedbacks
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.turns.snapshots import snapshot_of
from tests.support.databases import OneConnection
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, batch, feedback

LATEST = "/conversations/acme/support/c1/feedback/latest"
NOW = FixedClock(START + 3_600_000_000)


class Projection:
    """Projection that has written its batch and commits on request, like another process."""

    def __init__(self, read_models: asyncpg.Pool, *events: FeedbackCreated) -> None:
        self._pool, self._events = read_models, events

    async def write(self) -> Projection:
        self._acquired = self._pool.acquire()
        self._connection = await self._acquired.__aenter__()
        self._transaction = self._connection.transaction()
        await self._transaction.start()
        rows = newest_feedbacks(feedback_row(event) for event in self._events)
        connection: Any = self._connection  # has the pool's `fetch`
        await PostgresReadModels(OneConnection(connection)).apply(feedbacks=rows)  # type: ignore[arg-type]
        return self

    async def commit(self) -> None:
        await self._transaction.commit()
        await self._acquired.__aexit__(None, None, None)


class Timeline:
    """Client as documented: it follows the cursor to the end, keeps the watermark, and queries again with it."""

    def __init__(self, http: httpx.AsyncClient, **body: Any) -> None:
        self._http, self._body = http, body
        self.watermark: str | None = None
        self.seen: list[str] = []

    async def poll(self) -> list[str]:
        turns, cursor = [], None
        while True:
            body = self._body | {"watermark": self.watermark, "cursor": cursor}
            answer = (await self._http.post(LATEST, json=body)).json()
            turns += [item["turn_id"] for item in answer["items"]]
            cursor = answer["next_cursor"]
            assert (answer["watermark"] is None) == (cursor is not None)
            if cursor is None:
                break
        self.watermark = answer["watermark"]
        self.seen += turns
        return turns


@pytest.mark.parametrize("seed", range(12))
async def test_however_projections_interleave_nothing_is_missed(read_models: asyncpg.Pool, seed: int) -> None:
    choose = random.Random(seed)
    waiting = [
        Projection(read_models, feedback(f"f{at}", turn=f"t{at}", recorded=choose.randrange(5), at=at))
        for at in range(12)
    ]
    open_ones: list[Projection] = []
    async with client([conversations_router(read_models, NOW)]) as http:
        timeline = Timeline(http, limit=choose.choice([1, 3, 500]))
        while waiting or open_ones:
            step = choose.random()
            if waiting and len(open_ones) < 3 and step < 0.4:
                open_ones.append(await waiting.pop().write())
            elif open_ones and step < 0.7:
                await open_ones.pop(choose.randrange(len(open_ones))).commit()
            else:
                await timeline.poll()
        await timeline.poll()
        assert sorted(timeline.seen) == sorted(f"t{at}" for at in range(12))


async def test_what_is_written_while_an_answer_is_read_comes_at_once_or_the_next_time(
    read_models: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = ProjectionHandler(PostgresReadModels(read_models)).handle
    written: list[str] = []

    async def write() -> None:
        written.append(turn := f"t{len(written)}")
        await take(batch(feedback(turn, turn=turn)))

    async def with_a_write_on_either_side(connection: asyncpg.Connection) -> str:
        await write()
        now = await snapshot_of(connection)
        await write()
        return now

    async with client([conversations_router(read_models, NOW)]) as http:
        timeline = Timeline(http)
        with monkeypatch.context() as patch:
            patch.setattr("reporting.turns.latest.snapshot_of", with_a_write_on_either_side)
            await timeline.poll()
        await timeline.poll()
        assert set(timeline.seen) == set(written)
        assert await timeline.poll() == []


async def test_a_watermark_of_other_turns_or_of_another_server_rules_nothing_out(read_models: asyncpg.Pool) -> None:
    take = ProjectionHandler(PostgresReadModels(read_models)).handle
    await take(batch(feedback("f1", turn="t1"), feedback("f2", turn="t2")))
    async with client([conversations_router(read_models, NOW)]) as http:
        narrow = Timeline(http, turn_ids=["t1"])
        await narrow.poll()
        wider = Timeline(http, turn_ids=["t1", "t2"])
        wider.watermark = narrow.watermark
        assert await wider.poll() == ["t1", "t2"]
        every = Timeline(http)
        await every.poll()
        narrow.watermark = every.watermark
        assert await narrow.poll() == []
        elsewhere = await http.post(LATEST.replace("c1", "c2"), json={"watermark": every.watermark})
        assert elsewhere.status_code == 400
        both = await http.post(LATEST, json={"watermark": every.watermark, "since": "2026-09-21T14:13:30Z"})
        assert both.status_code == 422


async def test_rows_of_another_servers_dump_are_old_once_it_has_started(read_models: asyncpg.Pool) -> None:
    store = PostgresReadModels(read_models)
    await ProjectionHandler(store).handle(batch(feedback("f1", turn="t1")))
    await store.adopt()
    await read_models.execute("update feedbacks set written_by = '999999999999'")
    async with client([conversations_router(read_models, NOW)]) as http:
        timeline = Timeline(http)
        await timeline.poll()
        assert await timeline.poll() == ["t1"]
        await store.adopt()
        assert await timeline.poll() == ["t1"], "the same server is not looked through again"
        await read_models.execute("update database_server set system_identifier = 1")
        await store.adopt()
        assert await timeline.poll() == []
