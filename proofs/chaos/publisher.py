"""Publishes the load at its rate, idempotently, and adds acknowledged records to the ledger."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import random
import time
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from contracts.topics import BY_NAME
from proofs.chaos.ledger import Entry, Ledger, Outgoing, digest
from proofs.chaos.traffic import Traffic

TICK = 0.05
CATCH_UP = 10.0
"""Maximum backlog of the load after an outage, in seconds; the rest is never generated."""


def now_us() -> int:
    return time.time_ns() // 1_000


class Writer:
    """Idempotent producer that retries until the log has acknowledged everything."""

    def __init__(self, bootstrap: str, ledger: Ledger, seed: int, name: str = "chaos") -> None:
        self._bootstrap = bootstrap
        self.ledger = ledger
        self._name = name
        self._rng = random.Random(seed)
        self._producer: AIOKafkaProducer | None = None

    async def write(self, records: Sequence[Outgoing]) -> None:
        """Publish and add to the ledger; wait while the broker is unavailable."""
        left = list(records)
        while left:
            try:
                left = await self._try(left)
            except (KafkaError, OSError, TimeoutError):
                await self.close()
                await asyncio.sleep(0.5)

    async def _try(self, records: Sequence[Outgoing]) -> list[Outgoing]:
        producer = await self._open()
        futures = [await self._send(producer, record) for record in records]
        done = await asyncio.gather(*futures, return_exceptions=True)
        entries, failed = [], []
        for record, written in zip(records, done, strict=True):
            if isinstance(written, BaseException):
                failed.append(record)
                continue
            text = None if record.is_poison or record.value is None else record.value.decode()
            sha256 = digest(record.value)
            entries.append(Entry(record.topic, written.partition, written.offset, sha256, text, written.timestamp))
        await asyncio.to_thread(self.ledger.write, entries)
        if failed:
            await self.close()
        return failed

    async def _send(self, producer: AIOKafkaProducer, record: Outgoing) -> asyncio.Future[Any]:
        target: dict[str, object] = {"key": record.key.encode()}
        if record.scattered and record.value is not None:
            target = {"partition": self._rng.randrange(BY_NAME[record.topic].partitions)}
        headers = list(record.headers)
        sending: asyncio.Future[Any] = await producer.send(record.topic, record.value, headers=headers, **target)
        return sending

    async def _open(self) -> AIOKafkaProducer:
        if self._producer is None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                client_id=self._name,
                acks="all",
                enable_idempotence=True,
                max_request_size=4 * 1024 * 1024,
                max_batch_size=1_500_000,
                linger_ms=5,
            )
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            self._producer = producer
        return self._producer

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with contextlib.suppress(KafkaError, OSError, TimeoutError):
                await asyncio.wait_for(producer.stop(), 5)


class Load:
    """The traffic at a constant rate in records per second."""

    def __init__(self, traffic: Traffic, writer: Writer, rate: float) -> None:
        self._traffic = traffic
        self._writer = writer
        self.rate = rate
        self._waiting: list[tuple[float, int, Outgoing]] = []
        self._number = 0
        self.ending = False

    async def run(self) -> None:
        """Publish until `ending`, then all delayed records."""
        due_at = time.monotonic()
        while not self.ending:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            due_at = max(due_at, now - CATCH_UP)
            batch = []
            while due_at < now:
                due_at += 1 / self.rate
                record = self._traffic.next(now_us())
                if record.wait:
                    self._number += 1
                    heapq.heappush(self._waiting, (now + record.wait, self._number, record))
                else:
                    batch.append(record)
            while self._waiting and self._waiting[0][0] <= now:
                batch.append(heapq.heappop(self._waiting)[2])
            await self._writer.write(batch)
        await self._writer.write([record for _, _, record in self._waiting])
