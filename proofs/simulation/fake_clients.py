"""The log's clients and the stores of one process: every call may be delayed, fail, or kill the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from random import Random
from typing import Any, Literal

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaConnectionError, OutOfOrderSequenceNumber

from contracts.headers import Headers
from contracts.topics import BY_NAME
from feedback.store import NOBODY, RecordChanges, Save, Saved
from proofs.simulation.fake_log import Entry, Group, Log, Membership
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message, Written

Part = Literal["log", "commit", "store"]
Point = Callable[[str, Part], Awaitable[None]]
"""Await point of a process: `point(label, part)` returns, raises the error of an unavailable `part`, or kills."""


class FakeConsumer:
    """Fake of the part of aiokafka's consumer that `Subscription` uses."""

    def __init__(self, group: Group, point: Point, rng: Random) -> None:
        self.group = group
        self.membership = Membership()
        self._point = point
        self._rng = rng

    def assignment(self) -> frozenset[TopicPartition]:
        return self.membership.assignment

    async def committed(self, lane: TopicPartition) -> int | None:
        return self.group.committed.get(lane)

    async def beginning_offsets(self, lanes: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(lanes, 0)

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        generation, assignment = self.membership.generation, self.membership.assignment
        await self._point("commit", "commit")
        self.group.commit(self.membership, generation, assignment, offsets)
        await self._point("committed", "commit")

    def seek(self, lane: TopicPartition, offset: int) -> None:
        if lane not in self.membership.assignment:
            raise IllegalStateError("not assigned")
        self.membership.positions[lane] = offset
        self.group.log.stir()

    async def getmany(self) -> Sequence[Entry]:
        """Return some records of some partitions, in order within each; wait while there are none."""
        while True:
            log, positions = self.group.log, self.membership.positions
            ready = [lane for lane in self.group.lanes if positions.get(lane, 1 << 60) < len(log.lanes.get(lane, ()))]
            if ready:
                break
            await log.changed.wait()
        batch: list[Entry] = []
        for lane in self._rng.sample(ready, self._rng.randint(1, min(3, len(ready)))):
            first = positions[lane]
            entries = log.lanes[lane][first : first + self._rng.randint(1, 4)]
            positions[lane] = first + len(entries)
            batch += entries
        return batch


class FakeBatch:
    """Record batch that is full after a few records."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.records: list[tuple[str | None, bytes | None, Headers]] = []

    def append(
        self, *, key: bytes | None, value: bytes | None, timestamp: int | None, headers: Headers
    ) -> object | None:
        if len(self.records) >= self._most:
            return None
        self.records.append((None if key is None else key.decode(), value, headers))
        return self


class FakeProducerClient:
    """Fake of the part of aiokafka's producer that `BatchProducer` uses. After a failure it rejects all further calls.

    Each batch is written separately, so a crash or a failure may leave a part of the messages written.
    """

    def __init__(self, log: Log, point: Point, rng: Random) -> None:
        self._log = log
        self._point = point
        self._rng = rng
        self._failed = False
        self.client = self

    async def force_metadata_update(self) -> bool:
        return True

    async def partitions_for(self, topic: str) -> range:
        return range(BY_NAME[topic].partitions if topic in BY_NAME else 1)

    def create_batch(self) -> FakeBatch:
        return FakeBatch(self._rng.choice((1, 2, 3, 1_000)))

    async def send_batch(self, batch: FakeBatch, topic: str, *, partition: int) -> asyncio.Future[Any]:
        if self._failed:
            raise OutOfOrderSequenceNumber
        await self.reached("send")
        places = [
            self._log.append(Message(topic, key, value, headers, partition)) for key, value, headers in batch.records
        ]
        acknowledged: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(places[0])
        return acknowledged

    async def reached(self, label: str) -> None:
        try:
            await self._point(label, "log")
        except BaseException:
            self._failed = True
            raise

    async def stop(self) -> None:
        return None


class SimulatedProducer(BatchProducer):
    """The real producer on a fake client."""

    def __init__(self, log: Log, point: Point, rng: Random) -> None:
        super().__init__("nowhere", client_id="simulated")
        self._new_client = partial(FakeProducerClient, log, point, rng)

    async def start(self) -> None:
        if self._producer is None:
            self._producer = self._new_client()

    async def _send(self, producer: Any, *what: Any) -> dict[int, Written]:
        written = await super()._send(producer, *what)
        await producer.reached("sent")
        return written


class FaultyStore:
    """Store behind a connection that fails before or after a call."""

    def __init__(self, store: Any, point: Point) -> None:
        self._store = store
        self._point = point

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name.startswith("scan"):
            return partial(self._scan, name, method)

        async def call(*arguments: Any, **named: Any) -> Any:
            await self._point(name, "store")
            answer = await method(*arguments, **named)
            await self._point(f"{name} done", "store")
            return answer

        return call

    async def _scan(self, name: str, method: Any, *arguments: Any) -> AsyncIterator[Any]:
        async for part in method(*arguments):
            await self._point(name, "store")
            yield part


class FaultyFeedbackStore(FaultyStore):
    """Store that guarantees only each record's atomicity: a bulk write may stop half-way."""

    async def changes(self, revisions: Any, people: Any, turns: Any) -> RecordChanges:
        parts: list[RecordChanges] = []
        steps: tuple[tuple[Any, Any, Any], ...] = ((revisions, (), ()), ({}, people, ()), (revisions, (), turns))
        for arguments in steps:
            await self._point("changes", "store")
            parts.append(await self._store.changes(*arguments))
        await self._point("changes done", "store")
        return RecordChanges(parts[0].records, parts[1].ledger, parts[2].on_turns)

    async def save(self, saves: Sequence[Save], people: Any = (), ledger: Any = NOBODY) -> Saved:
        written: set[Any] = set()
        for save in saves:
            await self._point("save", "store")
            written |= (await self._store.save([save])).ids
        await self._point("saved", "store")
        return Saved(written, (await self._store.save([], people, ledger)).unknown)


FAILURES: dict[Part, Callable[[], Exception]] = {
    "log": KafkaConnectionError,
    "commit": KafkaConnectionError,
    "store": ConnectionError,
}
