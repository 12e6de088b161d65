"""A log in memory with partitions, groups, generations and commits like Kafka's."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

from contracts.headers import Headers
from contracts.topics import BY_NAME, Consumer, consumed_by
from servicekit.log.fetch import LOG_APPEND_TIME
from servicekit.log.records import Message, Written


@dataclass(frozen=True, slots=True)
class Entry:
    """Record as the client library returns it; `timestamp` is the log's, in milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_type: int = LOG_APPEND_TIME


class Log:
    """In-memory log. `now` returns milliseconds. `changed` is set, and replaced, when there may be something to
    read."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.lanes: defaultdict[TopicPartition, list[Entry]] = defaultdict(list)
        self.changed = asyncio.Event()
        self.on_append: Callable[[Entry], None] = lambda _: None

    def append(self, message: Message) -> Written:
        partition = message.partition_among(BY_NAME[message.topic].partitions if message.topic in BY_NAME else 1)
        entries = self.lanes[TopicPartition(message.topic, partition)]
        key = None if message.key is None else message.key.encode()
        entry = Entry(message.topic, partition, len(entries), self._now(), key, message.value, tuple(message.headers))
        entries.append(entry)
        self.on_append(entry)
        self.stir()
        return Written(message.topic, partition, entry.offset)

    def stir(self) -> None:
        """Wake everyone who waits for records, an assignment or a stop."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def of(self, topic: str) -> list[Entry]:
        """Return all records of a topic, partition by partition."""
        return [entry for lane in self._lanes_of(topic) for entry in self.lanes.get(lane, ())]

    def _lanes_of(self, topic: str) -> list[TopicPartition]:
        count = BY_NAME[topic].partitions if topic in BY_NAME else 1
        return [TopicPartition(topic, partition) for partition in range(count)]


@dataclass
class Membership:
    """View of a membership by the member, which learns of its removal only later."""

    generation: int = -1
    assignment: frozenset[TopicPartition] = frozenset()
    positions: dict[TopicPartition, int] = field(default_factory=dict)


class Group:
    """Consumer group: its members and committed offsets."""

    def __init__(self, name: Consumer, log: Log) -> None:
        self.name = name
        self.log = log
        self.generation = 0
        self.members: list[Membership] = []
        self.committed: dict[TopicPartition, int] = {}
        self.lanes = [TopicPartition(topic.name, n) for topic in consumed_by(name) for n in range(topic.partitions)]

    def commit(
        self,
        member: Membership,
        generation: int,
        assignment: frozenset[TopicPartition],
        offsets: dict[TopicPartition, int],
    ) -> None:
        """Commit all offsets or none, by the member's own view. Raises the client library's exceptions.

        A group without members accepts anybody's commit, like a real one.
        """
        if any(lane not in assignment for lane in offsets):
            raise IllegalStateError("not assigned")
        if self.members and (member not in self.members or generation != self.generation):
            raise CommitFailedError
        self.committed.update(offsets)

    def share_out(self, order: Iterable[Membership]) -> None:
        """Begin a new generation: the partitions are distributed round-robin, each from its committed offset."""
        self.generation += 1
        self.members = list(order)
        shares: list[list[TopicPartition]] = [[] for _ in self.members]
        for number, lane in enumerate(self.lanes if self.members else ()):
            shares[number % len(shares)].append(lane)
        for member, share in zip(self.members, shares, strict=True):
            member.generation = self.generation
            member.assignment = frozenset(share)
            member.positions = {lane: self.committed.get(lane, 0) for lane in share}

    def lag(self) -> int:
        return sum(len(self.log.lanes.get(lane, ())) - self.committed.get(lane, 0) for lane in self.lanes)
