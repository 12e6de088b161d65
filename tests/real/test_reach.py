"""Unknown turns on a real Kafka: not yet read, read, and behind the end of a transaction."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaProducer

import feedback.service
from feedback.settings import FeedbackSettings
from servicekit.log.topics import ensure_topics
from servicekit.service import Service, ServiceContext
from servicekit.web.application import add_routes, application, guarded
from tests.support.local_kafka import LocalKafka
from tests.support.running_stack import Tokens, exchange

pytestmark = pytest.mark.real


async def _in_transactions(bootstrap: str, *turns: str) -> None:
    """Write exchanges in transactions, whose ends take an offset each."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="chat")
    await producer.start()
    try:
        for turn in turns:
            async with producer.transaction():
                for event in exchange("c1", turn):
                    await producer.send(event["topic"], json.dumps(event).encode(), key=b"a key of its own")
    finally:
        await producer.stop()


def _client(service: Service) -> httpx.AsyncClient:
    app = application(service.not_ready)
    add_routes(app, service.routers)
    headers = {"Authorization": "Bearer ann"}
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(guarded(app, Tokens())),
        base_url="http://feedback",
        headers=headers,
    )


async def test_an_unknown_turn_is_unknown_once_all_is_read(postgres_url: str, tmp_path: Path) -> None:
    async with LocalKafka(tmp_path / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        settings = FeedbackSettings(
            broker=kafka.bootstrap, database_url=postgres_url, store_url=postgres_url, turn_seconds=10
        )
        service = await feedback.service.PROGRAM.build(settings, ServiceContext(kafka.bootstrap))
        try:
            await service.start()
            async with asyncio.timeout(60):
                while await service.not_ready():
                    await asyncio.sleep(0.1)
            async with _client(service) as http:

                async def post(turn: str) -> Any:
                    path = f"/conversations/acme/support/c1/turns/{turn}/feedback"
                    return (await http.post(path, json={"reaction": "ok"})).status_code

                assert await post("nowhere-yet") == 404
                await _in_transactions(kafka.bootstrap, "real-1", "real-2")
                assert await post("real-2") == 202
                assert await post("nowhere") == 404
                assert await post("real-1") == 202
        finally:
            await service.stop()
