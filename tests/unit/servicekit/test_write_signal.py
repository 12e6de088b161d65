"""Consumers of an in-process broker fetch when it has received records, not again and again."""

from __future__ import annotations

import asyncio
import math

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from servicekit.log.write_signal import signal_of, write_signal
from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.write_watch import watched
from tests.support.waits import PATIENCE_SECONDS


async def test_only_writes_are_signalled() -> None:
    with MemoryBroker({"topic": 1}) as broker:
        async with watched(broker):
            signal = signal_of(broker.bootstrap)
            assert signal is not None
            async with AIOKafkaConsumer("topic", bootstrap_servers=broker.bootstrap) as consumer:
                assert await consumer.getmany(timeout_ms=200) == {}
                assert signal.count == 0, "reading is not writing"
                async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
                    await producer.send_and_wait("topic", b"value")
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await signal.after(0, math.inf)
                assert signal.count == 1
        assert signal_of(broker.bootstrap) is None


async def test_a_wait_ends_with_the_next_write_or_in_time() -> None:
    with write_signal("here:1") as signal:
        assert (signal_of("here:1"), signal_of("here:2")) == (signal, None)
        await signal.after(0, 0.01)
        waiting = asyncio.create_task(signal.after(0, math.inf))
        signal.notify()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await waiting
            await signal.after(0, math.inf)
