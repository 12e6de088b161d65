"""The log's clients and the stores as one process sees them: every call may be delayed, fail, or be the last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from random import Random
from typing import Any, Literal

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaConnectionError

from feedback.store import Save
from servicekit.failures import LogUnavailable
from servicekit.producer import Message, Written, fixed_partition
from simulation.fake_log import Entry, Group, Log, Membership

Part = Literal["log", "commit", "store"]
Point = Callable[[str, Part], Awaitable[None]]
"""An await point of a process: `point(label, part)` comes back, raises what `part` raises when it fails, or kills."""


class FakeConsumer:
    """What `Subscription` uses of aiokafka's consumer."""

    def __init__(self, group: Group, point: Point, rng: Random) -> None:
        self.group = group
        self.membership = Membership()
        self._point = point
        self._rng = rng

    def assignment(self) -> frozenset[TopicPartition]:
        return self.membership.assignment

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
        """Some records of some of the lanes, in order within each; waits while there are none."""
        while True:
            log, positions = self.group.log, self.membership.positions
            ready = [lane for lane in self.group.lanes if positions.get(lane, 1 << 60) < len(log.lanes.get(lane, ()))]
            if ready:
                break
            await log.changed.wait()
        batch: list[Entry] = []
        for lane in self._rng.sample(ready, self._rng.randint(1, min(3, len(ready)))):
            first = positions[lane]
            taken = log.lanes[lane][first : first + self._rng.randint(1, 4)]
            positions[lane] = first + len(taken)
            batch += taken
        return batch


class FakeProducer:
    """Writes lane by lane, so that a crash or a failure may leave a part of it written."""

    def __init__(self, log: Log, point: Point) -> None:
        self._log = log
        self._point = point

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        lanes: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        for index, message in enumerate(messages):
            partition = message.partition
            if partition is None:
                partition = 0 if message.topic.endswith(".dlq") else fixed_partition(message.topic, message.key or "")
            lanes[message.topic, partition].append(index)
        places: dict[int, Written] = {}
        for indexes in lanes.values():
            await self._point("send", "log")
            places.update((index, self._log.append(messages[index])) for index in indexes)
        if messages:
            await self._point("sent", "log")
        return [places[index] for index in range(len(messages))]


class FaultyStore:
    """Any store behind a connection that fails before a call, or after it."""

    def __init__(self, store: Any, point: Point) -> None:
        self._store = store
        self._point = point

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name.startswith("scan"):
            return partial(self._scan, name, method)

        async def call(*arguments: Any) -> Any:
            await self._point(name, "store")
            answer = await method(*arguments)
            await self._point(f"{name} done", "store")
            return answer

        return call

    async def _scan(self, name: str, method: Any, *arguments: Any) -> AsyncIterator[Any]:
        async for part in method(*arguments):
            await self._point(name, "store")
            yield part


class FaultyFeedbackStore(FaultyStore):
    """Promises no more than each record's atomicity: a bulk write may stop half-way."""

    async def save(self, saves: Sequence[Save]) -> set[Any]:
        written: set[Any] = set()
        for save in saves:
            await self._point("save", "store")
            written |= await self._store.save([save])
        await self._point("saved", "store")
        return written


FAILURES: dict[Part, Callable[[], Exception]] = {
    "log": LogUnavailable,
    "commit": KafkaConnectionError,
    "store": ConnectionError,
}
