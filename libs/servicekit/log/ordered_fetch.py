"""aiokafka fetcher that returns the records of related topics in order of log time (`log_order.py`).

With an in-process broker, the fetcher fetches when the broker signals a write (`write_signal.py`), and at least every
`IDLE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import aiokafka.consumer.consumer as consumer
import aiokafka.consumer.fetcher as fetcher
from aiokafka import ConsumerRecord, TopicPartition

from contracts.topics import IN_LOG_ORDER
from servicekit.log.bounded_fetch import POLL_BYTES, BoundedResult
from servicekit.log.log_order import GAP_SHARE, BatchEnd, HoldDeadlines, PartitionHead, next_step
from servicekit.log.write_signal import signal_of

Records = dict[TopicPartition, list[ConsumerRecord]]
Positions = frozenset[tuple[str, int, int]]
"""Topics, partitions and next offsets."""
IDLE_SECONDS = 5.0
"""Maximum time between fetches from a broker with a write signal, in seconds."""
PARTIAL_SECONDS = 0.1
"""The same if some partitions are not part of the next fetch, or if fetched records wait for unread ones."""
_TIMER_SECONDS = 0.001
"""Resolution of the event loop's timers, which may end a wait this much too early."""
_WITH_SIGNAL: Mapping[str, Any] = {"fetch_max_wait_ms": 0, "fetcher_timeout": IDLE_SECONDS}


def order_fetching() -> None:
    """Make every consumer in this process fetch in order of log time.

    aiokafka has no extension point for this, so a private name is patched. A test fails if it no longer exists. Calling
    this function again has no effect.
    """
    consumer.Fetcher = OrderedFetcher


class OrderedFetcher(fetcher.Fetcher):  # type: ignore[misc]  # aiokafka has no types
    """aiokafka's fetcher, extended to read same-numbered partitions of related topics in order of log time."""

    _records: dict[TopicPartition, Any]
    _monotonic: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self, client: Any, subscriptions: Any, **options: Any) -> None:
        self.prepare_order()
        self._signal = next((one for host, port, _ in client.hosts if (one := signal_of(f"{host}:{port}"))), None)
        self._empty: tuple[int, Positions] = (0, frozenset())
        """Number of writes before the last fetch, and the positions at which that fetch found no records."""
        super().__init__(client, subscriptions, **{**options, **(_WITH_SIGNAL if self._signal else {})})

    def prepare_order(self) -> None:
        """Initialise the ordering state. Must be called before aiokafka starts to fetch."""
        self._deadlines = HoldDeadlines()
        self._wait: float | None = None
        """Maximum time that fetched records still wait for unread ones, in seconds; None if none wait."""
        self._read_to: dict[TopicPartition, tuple[int, int]] = {}
        """The next offset and the time of the last record read, by partition."""
        self._served: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._round = 0

    @property
    def is_holding(self) -> bool:
        """True if fetched records are held until another partition has been fetched."""
        return self._wait is not None

    async def fetched_records(
        self,
        partitions: Collection[TopicPartition],
        timeout: float = 0,  # noqa: ASYNC109 # aiokafka's signature
        max_records: int | None = None,
    ) -> Records:
        """Return fetched records, waiting up to `timeout` seconds if there are none. Raises KafkaError."""
        deadline = time.monotonic() + timeout
        while True:
            if self._subscriptions.reassignment_in_progress:
                await self._subscriptions.wait_for_assignment()
            found = self._take(partitions, max_records)
            left = deadline - time.monotonic()
            if found or left < _TIMER_SECONDS:
                return found
            waiter = self._create_fetch_waiter()
            await asyncio.wait([waiter], timeout=left if self._wait is None else min(left, self._wait))
            if self._closed:
                return {}
            if waiter.done():
                waiter.result()  # raises the coordinator's errors
            else:
                waiter.cancel()

    async def _proc_fetch_request(self, assignment: Any, node_id: int, request: Any) -> bool:
        """Fetch once, and return True if the consumer should read.

        That is the case if records have arrived, or if records are held. Even an empty fetch may release held records,
        because it may show that no other partition has earlier ones.
        """
        if (signal := self._signal) is None:
            return bool(await super()._proc_fetch_request(assignment, node_id, request)) or self.is_holding
        positions = frozenset((topic, one[0], one[1]) for topic, some in request.topics for one in some)
        count, empty = self._empty
        if positions <= empty:
            is_partial = len(positions) < len(assignment.tps)
            seconds = PARTIAL_SECONDS if is_partial or self.is_holding else IDLE_SECONDS
            try:
                await signal.after(count, seconds)
            except asyncio.CancelledError:  # the consumer closes, or its partitions are revoked
                return False
        count = signal.count
        has_records = bool(await super()._proc_fetch_request(assignment, node_id, request))
        self._empty = (count, frozenset() if has_records else positions)
        return has_records or self.is_holding

    def _take(self, partitions: Collection[TopicPartition], max_records: int | None) -> Records:
        """Return up to `max_records` fetched records, from the least recently served partitions first."""
        found: Records = {}
        self._wait = None
        left, spare = max_records, (max_records or 0) // GAP_SHARE
        groups = self._groups(partitions)
        for name in sorted(groups, key=lambda name: self._served[name]):
            taken = self._take_from(groups[name], left, spare, found)
            if taken:
                self._round += 1
                self._served[name] = self._round
            if left is not None and (left := left - taken) <= spare:
                break
        self._drop_read()
        if not found:
            self._raise_errors()
        return found

    def _groups(self, partitions: Collection[TopicPartition]) -> Mapping[tuple[str, int], list[TopicPartition]]:
        """Return the partitions with fetched records, in groups that are read together.

        A group consists of the same-numbered partitions of related topics, including those without fetched records.
        Every other partition forms a group of its own.
        """
        groups: dict[tuple[str, int], list[TopicPartition]] = {}
        for one in list(self._records):
            if partitions and one not in partitions:
                if not self._subscriptions.is_assigned(one):
                    del self._records[one]
                continue
            related = one.topic in IN_LOG_ORDER
            name = ("" if related else one.topic, one.partition)
            if name not in groups:
                groups[name] = list(self._related(one, partitions)) if related else [one]
        return groups

    def _related(self, one: TopicPartition, among: Collection[TopicPartition]) -> Iterator[TopicPartition]:
        """Yield the partitions of related topics that have the same number as `one`, if assigned and not paused."""
        for topic in IN_LOG_ORDER:
            other = TopicPartition(topic, one.partition)
            state = self._state(other)
            if state is not None and not state.paused and (not among or other in among):
                yield other

    def _take_from(self, group: list[TopicPartition], left: int | None, spare: int, found: Records) -> int:
        """Read the records of a group of partitions in order, and return the number of records read.

        If records are held, this also sets how long they wait.
        """
        if len(group) == 1:
            return len(self._run(group[0], left, found)[0])
        end = BatchEnd(left, spare)
        room = dict.fromkeys(group, POLL_BYTES)
        while True:
            heads = {one: self._head_of(one) for one in group}
            if (step := next_step(list(heads.values()))) is None:
                break
            first = group[step.number]
            wait = self._deadlines.missing(heads, heads[first], self._monotonic())
            if wait is not None:
                self._hold(group, wait)
                break
            if (limit := end.room(step)) == 0:
                break
            records, size = self._run(first, limit, found, step.until, room[first])
            room[first] -= size
            if not records or room[first] <= 0:
                break
            last = self._records[first].time_of(records[-1])
            self._read_to[first] = (records[-1].offset + 1, last)
            end.took(len(records), last)
        return sum(len(found.get(one, ())) for one in group)

    def _run(
        self, one: TopicPartition, limit: int | None, found: Records, until: float = math.inf, room: int = POLL_BYTES
    ) -> tuple[list[ConsumerRecord], int]:
        """Read records of one partition up to the time `until`, and return them with their total size in bytes."""
        result = self._records.get(one)
        if type(result) is not BoundedResult:
            return [], 0
        result.is_held = False
        records, size = result.take(limit, until, room)
        if records:
            found.setdefault(one, []).extend(records)
        return records, size

    def _head_of(self, one: TopicPartition) -> PartitionHead:
        rank, state = IN_LOG_ORDER[one.topic], self._state(one)
        result = self._records.get(one)
        if type(result) is BoundedResult and (head := result.head()) is not None:
            return PartitionHead(rank, head, result.fetched_at, False, result.fetched_at, None)
        position = state.position if state.has_valid_position else None
        has_unread = position is None or state.highwater is None or position < state.highwater
        at, read_to = self._read_to.get(one, (None, None))
        return PartitionHead(
            rank, None, 0, has_unread, state.timestamp or 0, position, read_to if at == position else None
        )

    def _hold(self, group: list[TopicPartition], wait: float) -> None:
        self._wait = wait if self._wait is None else min(wait, self._wait)
        for one in group:
            if type(result := self._records.get(one)) is BoundedResult:
                result.is_held = True
        self._notify(self._wait_consume_future)

    def _drop_read(self) -> None:
        """Remove empty buffers, so that their partitions are fetched again."""
        for one, result in list(self._records.items()):
            if isinstance(result, BoundedResult) and not result.has_more():
                del self._records[one]
                self._notify(self._wait_consume_future)

    def _raise_errors(self) -> None:
        """Raise the first fetch error. The affected partition is fetched again."""
        for one, result in list(self._records.items()):
            if type(result) is not BoundedResult:
                del self._records[one]
                self._notify(self._wait_consume_future)
                result.check_raise()

    def _state(self, one: TopicPartition) -> Any:
        subscription = self._subscriptions.subscription
        assignment = None if subscription is None else subscription.assignment
        return None if assignment is None else assignment.state_value(one)
