"""The commands on the log, run like a user does, with a real Kafka and a real store."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from contracts.base import Reaction
from contracts.feedback import FeedbackExplicitReceived
from contracts.topics import CHAT_REPLY, EXPLICIT_RECEIVED
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from feedback.store import Store
from feedback.store_choice import open_store
from servicekit.log.dead_letters import dead_letter
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Coordinates, RawRecord, Received
from servicekit.log.topics import ensure_topics
from servicekit.service import Service, ServiceContext
from tests.support.local_kafka import LocalKafka

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]


@dataclass
class Place:
    kafka: LocalKafka
    store: Store
    store_url: str
    producer: BatchProducer

    async def command(self, *arguments: str) -> tuple[int, Any]:
        """Return exit code and JSON of an `agent-feedback` command."""
        full = ["-m", "standalone", *arguments, "--json", "--broker", self.kafka.bootstrap]
        process = await asyncio.create_subprocess_exec(sys.executable, *full, stdout=PIPE)
        out, _ = await process.communicate()
        return process.returncode or 0, json.loads(out)

    async def on_store(self, *arguments: str) -> tuple[int, Any]:
        return await self.command(*arguments, "--store", self.store_url)

    async def judged(self, *turns: str, reaction: Reaction = "ok", sequence: int = 0) -> None:
        """Process a person's judgement of each turn, like the service."""
        batch = [
            Received(
                FeedbackExplicitReceived(
                    event_id=f"{turn}-{sequence}",
                    occurred_at=1_000_000,
                    sequence=sequence,
                    tenant="acme",
                    project="p",
                    conversation_id="c1",
                    turn_id=turn,
                    agent_id="bot",
                    user_id="ann",
                    reaction=reaction,
                ),
                RawRecord(Coordinates(EXPLICIT_RECEIVED.name, 0, sequence), None, b"{}", (), 2_000_000),
            )
            for turn in turns
        ]
        await FeedbackHandler(self.store, self.producer, DEFAULT_REWARDS).handle(batch)


@pytest.fixture(scope="module")
async def _kafka(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalKafka]:
    async with LocalKafka(tmp_path_factory.mktemp("tools"), say=print) as running:
        await ensure_topics(running.bootstrap)
        yield running


@pytest.fixture(scope="module")
async def _database(postgres_url: str) -> str:
    """Return a database for these tests only, because the store may not contain anything that this log never had."""
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("create database log_tools")
    await connection.close()
    return urlsplit(postgres_url)._replace(path="/log_tools").geturl()


@pytest.fixture
async def place(_kafka: LocalKafka, _database: str) -> AsyncIterator[Place]:
    service = Service("feedback", ServiceContext(_kafka.bootstrap))
    store = await open_store(_database, service)
    producer = BatchProducer(_kafka.bootstrap, client_id="test")
    yield Place(_kafka, store, _database, producer)
    await producer.stop()
    await service.resources.aclose()


async def test_the_ledger_is_compared_repaired_and_compared_again(place: Place) -> None:
    await place.judged("t1", "t2", "t3")
    code, facts = await place.on_store("ledger", "verify")
    assert (code, facts["first_difference"]) == (0, None)
    assert facts["feedbacks"] == facts["stored"] >= 3

    class Deaf(BatchProducer):
        async def send(self, messages: Any) -> Any:
            return []

    found, place.producer = place.producer, Deaf(place.kafka.bootstrap, client_id="deaf")
    await place.judged("t4")
    await place.judged("t1", reaction="not_ok", sequence=1)
    place.producer = found
    code, facts = await place.on_store("ledger", "verify")
    assert code == 1
    assert (facts["missing"], facts["differing"], facts["extra"]) == (1, 1, 0)
    assert facts["first_difference"].startswith("Feedback ")

    assert await place.on_store("ledger", "republish") == (0, {"announced": facts["stored"], "impossible": {}})
    code, facts = await place.on_store("ledger", "verify")
    assert (code, facts["first_difference"]) == (0, None)


async def test_dead_letters_are_listed_shown_and_sent_again_as_they_were(place: Place) -> None:
    def raw(value: bytes, offset: int) -> RawRecord:
        at = Coordinates(CHAT_REPLY.name, 1, offset)
        return RawRecord(at, b"acme/p/c1", value, [("cause", b"chat.message.ingested:0:3")], 7)

    letters = [
        dead_letter(raw(b"\xff\x00broken", 1), service="chat_bridge", reason="invalid_json", error_class="permanent"),
        dead_letter(raw(b"\xff\x00broken", 2), service="chat_bridge", reason="invalid_json", error_class="permanent"),
        dead_letter(raw(b"{}", 3), service="chat_bridge", reason="future", error_class="permanent"),
    ]
    await place.producer.send(letters)
    code, facts = await place.command("dlq", "list", "--topic", CHAT_REPLY.name)
    assert (code, facts["count"], facts["reasons"]) == (0, 3, {"invalid_json": 2, "future": 1})
    assert (await place.command("dlq", "list", "--reason", "future"))[1]["count"] == 1
    assert (await place.command("dlq", "list", "--until", "2001-01-01T00:00:00Z"))[1]["count"] == 0
    _, shown = await place.command("dlq", "list", facts["letters"][0]["letter"])
    assert (shown["key"], shown["value_base64"], shown["record"]) == (
        "acme/p/c1",
        "/wBicm9rZW4=",
        f"{CHAT_REPLY.name}:1:1",
    )
    assert (await place.command("dlq", "replay", "--reason", "invalid_json"))[1] == {
        "letters": 2,
        "sent": 1,
        "repeats": 1,
        "empty": 0,
        "too_large": 0,
    }
    consumer = AIOKafkaConsumer(bootstrap_servers=place.kafka.bootstrap, auto_offset_reset="earliest")
    async with consumer:
        consumer.assign([TopicPartition(CHAT_REPLY.name, n) for n in range(CHAT_REPLY.partitions)])
        again = await asyncio.wait_for(consumer.getone(), 30)
    assert (again.key, again.value, again.headers) == (
        b"acme/p/c1",
        b"\xff\x00broken",
        (("agent-feedback-log-time", b"7"),),
    )
