"""Two feedback services whose clocks are wrong by an hour each, on one real Kafka: the log's clock decides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
import pytest_asyncio

import feedback.service
from contracts.ids import conversation_key
from contracts.instants import MINUTE, format_instant, parse_instant
from feedback.settings import FeedbackSettings
from servicekit.clock import SystemClock
from servicekit.log.outcome import Observation
from servicekit.log.records import Message
from servicekit.log.topics import ensure_topics
from servicekit.service import Service, ServiceContext
from servicekit.web.application import add_routes, application, guarded
from tests.support.local_kafka import LocalKafka
from tests.support.running_stack import Tokens, message

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]


HOUR = 60 * MINUTE


C1 = "/conversations/acme/support/c1/turns/t1/feedback"


class WrongClock(SystemClock):
    def __init__(self, wrong_by: int) -> None:
        self._wrong_by = wrong_by

    def now(self) -> int:
        return super().now() + self._wrong_by


@dataclass
class Pair:
    """Two services; `ahead` and `behind` call the one whose clock is an hour ahead or behind."""

    ahead: httpx.AsyncClient
    behind: httpx.AsyncClient
    services: list[Service]
    seen: list[Observation]
    database_url: str

    async def stored(self) -> dict[str, Any]:
        """Return the only feedback record's only slot, when everything is processed."""
        async with asyncio.timeout(60):
            while sum([await one.lag() for one in self.services]):
                await asyncio.sleep(0.05)
        connection = await asyncpg.connect(self.database_url)
        try:
            slots = await connection.fetchval("select slots from feedback.feedback")
        finally:
            await connection.close()
        return json.loads(slots)[""] if slots else {}

    @property
    def set_aside(self) -> list[Observation]:
        return [one for one in self.seen if one.outcome.kind == "dead_lettered"]


@pytest_asyncio.fixture
async def pair(own_database: str, tmp_path: Path) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as parts:
        kafka = await parts.enter_async_context(LocalKafka(tmp_path / "kafka"))
        await ensure_topics(kafka.bootstrap)
        seen: list[Observation] = []
        services: list[Service] = []
        clients: list[httpx.AsyncClient] = []
        settings = FeedbackSettings(broker=kafka.bootstrap, database_url=own_database, store_url=own_database)
        for wrong_by in (HOUR, -HOUR):
            around = ServiceContext(kafka.bootstrap, clock=WrongClock(wrong_by), observers=[seen.append])
            service = await feedback.service.PROGRAM.build(settings, around)
            parts.push_async_callback(service.stop)
            await service.start()
            services.append(service)
            clients.append(await parts.enter_async_context(_client(service)))
        async with asyncio.timeout(60):
            while [why for one in services if (why := await one.not_ready())]:
                await asyncio.sleep(0.1)
        answer = message("m1", "c1", turn="t1", agent="bot")
        key = conversation_key("acme", "support", "c1")
        await services[0].producer.send([Message(answer["topic"], key, json.dumps(answer).encode())])
        ahead, behind = clients
        yield Pair(ahead, behind, services, seen, own_database)


def _client(service: Service) -> httpx.AsyncClient:
    app = application(service.not_ready)
    add_routes(app, service.routers)
    transport = httpx.ASGITransport(guarded(app, Tokens()))
    return httpx.AsyncClient(transport=transport, base_url="http://feedback", headers={"Authorization": "Bearer acme"})


async def test_no_services_clock_decides(pair: Pair) -> None:
    """Whichever service accepts it, a judgement has the log's time, and the last one in the log counts."""
    clock = SystemClock()
    for http, reaction in ((pair.ahead, "ok"), (pair.behind, "not_ok"), (pair.ahead, "neutral"), (pair.behind, "ok")):
        before = clock.now()
        answer = await http.post(C1, json={"reaction": reaction})
        assert answer.status_code == 202, answer.text
        slot = await pair.stored()
        assert slot["payload"]["reaction"] == reaction
        _, occurred_at, sequence, *_ = slot["stamp"]
        assert before - 1_000 <= occurred_at <= clock.now()
        assert answer.json()["ts"] == format_instant(occurred_at)
        assert sequence >> 20 == occurred_at // 1_000, "the log's millisecond, before the offset"
    past, soon = format_instant(clock.now() + 1_000_000), format_instant(clock.now() + 50 * MINUTE)
    for http, ts in ((pair.behind, past), (pair.ahead, soon)):
        before = clock.now()
        answer = await http.post(C1, json={"reaction": "not_ok", "ts": ts})
        assert answer.status_code == 202
        _, occurred_at, *_ = (await pair.stored())["stamp"]
        assert before - 1_000 <= occurred_at <= max(clock.now(), parse_instant(past)), "the log's time at the latest"
    assert pair.set_aside == []

    asked = await pair.ahead.delete("/tenants/acme/users/ann")
    assert asked.status_code == 202
    assert await pair.stored() == {}
    refused = await pair.behind.post(C1, json={"reaction": "ok"})
    assert (refused.status_code, int(refused.headers["Retry-After"]) < 66 * 60) == (409, True), "an hour and the margin"
    status = (await pair.behind.get(asked.json()["status_url"])).json()
    assert abs(parse_instant(status["requested_at"]) - clock.now()) < MINUTE
    assert pair.set_aside == []
