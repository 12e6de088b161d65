"""Two bridges whose clocks are wrong by an hour each, on one real Kafka: only the log's time decides if an event is
from the future."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import chat_bridge.service
from chat_bridge.settings import ChatBridgeSettings
from contracts.instants import MINUTE, format_instant
from servicekit.clock import SystemClock
from servicekit.log.outcome import Observation
from servicekit.log.topics import ensure_topics
from servicekit.service import Service, ServiceContext
from servicekit.web.application import add_routes, application, guarded
from tests.support.local_kafka import LocalKafka
from tests.support.running_stack import Tokens, message

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]
HOUR = 60 * MINUTE


class ShiftedClock(SystemClock):
    def __init__(self, ahead: int) -> None:
        self._ahead = ahead

    def now(self) -> int:
        return super().now() + self._ahead


def _client(service: Service) -> httpx.AsyncClient:
    app = application(service.not_ready)
    add_routes(app, service.routers)
    transport = httpx.ASGITransport(guarded(app, Tokens()))
    headers = {"Authorization": "Bearer acme", "Content-Type": "application/x-ndjson"}
    return httpx.AsyncClient(transport=transport, base_url="http://bridge", headers=headers)


async def test_only_the_logs_time_calls_an_event_future(own_database: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as parts:
        kafka = await parts.enter_async_context(LocalKafka(tmp_path / "kafka"))
        await ensure_topics(kafka.bootstrap)
        seen: list[Observation] = []
        settings = ChatBridgeSettings(broker=kafka.bootstrap, database_url=own_database)
        services: dict[str, Service] = {}
        for name, ahead in (("ahead", HOUR), ("behind", -HOUR)):
            around = ServiceContext(kafka.bootstrap, clock=ShiftedClock(ahead), observers=[seen.append])
            services[name] = await chat_bridge.service.PROGRAM.build(settings, around)
            parts.push_async_callback(services[name].stop)
            await services[name].start()
        async with asyncio.timeout(60):
            while [why for one in services.values() if (why := await one.not_ready())]:
                await asyncio.sleep(0.1)

        now = SystemClock().now()
        answers: dict[str, Any] = {}
        for name, service in services.items():
            times = {"now": now, "soon": now + 4 * MINUTE, "future": now + 30 * MINUTE}
            events = [message(f"{name}-{at}", "c1", occurredAt=format_instant(time)) for at, time in times.items()]
            invalid = events[0] | {"messageId": ""}
            body = "\n".join(map(json.dumps, [*events, invalid]))
            async with _client(service) as http:
                answers[name] = (await http.post("/ingest/acme/support/events", content=body)).json()
        async with asyncio.timeout(60):
            while sum([await one.lag() for one in services.values()]):
                await asyncio.sleep(0.05)

    for answer in answers.values():
        assert (answer["accepted"], answer["refused_total"]) == (2, 2)
        assert [(one["line"], one["reason"]) for one in answer["refused"]] == [(3, "future"), (4, "invalid_event")]
    letters = [one for one in seen if one.outcome.kind == "dead_lettered"]
    assert [one.outcome.reason for one in letters if one.outcome.kind == "dead_lettered"] == ["future", "future"]
