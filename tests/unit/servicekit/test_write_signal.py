"""Consumers of an in-process broker fetch when it has received records, not again and again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.client import AIOKafkaClient

from contracts.topics import CHAT_MESSAGE, CHAT_REPLY
from servicekit.log import ordered_fetch
from servicekit.log.bounded_fetch import bound_fetching
from servicekit.log.ordered_fetch import order_fetching
from servicekit.log.write_signal import WriteSignal, signal_of, write_signal
from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.write_watch import watched
from tests.support.waits import PATIENCE_SECONDS

LANES = [TopicPartition(topic, 0) for topic in (CHAT_MESSAGE.name, CHAT_REPLY.name, "other")]


@pytest_asyncio.fixture
async def consumer() -> AsyncIterator[AIOKafkaConsumer]:
    """Consumer of an in-process broker with a signal."""
    order_fetching()
    bound_fetching()
    with MemoryBroker({lane.topic: 1 for lane in LANES}) as broker:
        async with watched(broker):
            reader = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest")
            async with reader:
                reader.assign(LANES)
                yield reader
        assert signal_of(broker.bootstrap) is None


async def written(consumer: AIOKafkaConsumer, *topics: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=consumer._client._bootstrap_servers) as producer:
        for topic in topics:
            await producer.send_and_wait(topic, topic.encode(), partition=0)


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Fetch requests that are sent."""
    found: list[Any] = []
    send = AIOKafkaClient.send

    async def observed(client: AIOKafkaClient, node: int, request: Any, **options: Any) -> Any:
        if type(request).__name__.startswith("FetchRequest"):
            found.append(request)
        return await send(client, node, request, **options)

    monkeypatch.setattr(AIOKafkaClient, "send", observed)
    return found


async def test_a_write_wakes_an_idle_consumer(consumer: AIOKafkaConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_fetch, "IDLE_SECONDS", math.inf)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for topic in (LANES[0].topic, LANES[2].topic, LANES[0].topic):
            waiting = asyncio.create_task(consumer.getone())
            await written(consumer, topic)
            assert (await waiting).topic == topic


async def test_an_idle_consumer_fetches_once_in_a_while(
    fetches: list[Any], consumer: AIOKafkaConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered_fetch, "IDLE_SECONDS", 0.2)
    assert await consumer.getmany(timeout_ms=1_000) == {}
    assert 3 <= len(fetches) <= 8, "one fetch in 0.2 s, after two fetches at once"


async def test_a_missed_signal_delays_a_record_for_a_bounded_time(
    consumer: AIOKafkaConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WriteSignal, "notify", lambda _: None)
    monkeypatch.setattr(ordered_fetch, "IDLE_SECONDS", 0.2)
    async with asyncio.timeout(PATIENCE_SECONDS):
        waiting = asyncio.create_task(consumer.getone())
        await written(consumer, LANES[1].topic)
        assert (await waiting).topic == LANES[1].topic


async def test_partitions_that_were_not_fetched_are_fetched_soon(
    consumer: AIOKafkaConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered_fetch, "IDLE_SECONDS", math.inf)
    async with asyncio.timeout(PATIENCE_SECONDS):
        consumer.pause(LANES[0])
        await written(consumer, LANES[0].topic)
        assert await consumer.getmany(timeout_ms=200) == {}
        consumer.resume(LANES[0])
        assert (await consumer.getone()).topic == LANES[0].topic


async def test_a_consumer_that_waits_for_the_signal_closes_at_once(
    consumer: AIOKafkaConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered_fetch, "IDLE_SECONDS", math.inf)
    assert await consumer.getmany(timeout_ms=200) == {}
    async with asyncio.timeout(PATIENCE_SECONDS):
        await consumer.stop()


async def test_only_writes_are_signalled(consumer: AIOKafkaConsumer) -> None:
    (server,) = (f"{host}:{port}" for host, port, _ in consumer._client.hosts)
    signal = signal_of(server)
    assert signal is not None
    assert await consumer.getmany(timeout_ms=200) == {}
    assert signal.count == 0, "reading is not writing"
    await written(consumer, LANES[0].topic)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await signal.after(0, math.inf)
    assert signal.count == 1


async def test_a_wait_ends_with_the_next_write_or_in_time() -> None:
    with write_signal("here:1") as signal:
        assert (signal_of("here:1"), signal_of("here:2")) == (signal, None)
        await signal.after(0, 0.01)
        waiting = asyncio.create_task(signal.after(0, math.inf))
        signal.notify()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await waiting
            await signal.after(0, math.inf)
