"""Fetching of a consumer group's batches, in order of log time, without pauses between them.

A message and an event about it are on different topics, but in partitions with the same number. A consumer that read
one partition after the other would often handle the event first, especially after an outage, and would have to park it.
The order affects only speed.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from heapq import merge
from itertools import islice
from operator import itemgetter

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from contracts.headers import LOG_TIME, Headers, header
from contracts.topics import IN_LOG_ORDER
from servicekit.log.fetch_limits import FetchFailure
from servicekit.log.records import Coordinates, RawRecord, RefusedBatch
from servicekit.log.settings import BATCH_TIMEOUT_SECONDS, MAX_RECORDS

LOG_APPEND_TIME = 1
"""The `timestamp_type` of a record whose timestamp is set by the log instead of the producer."""
FULL = 500
"""Number of records from which a batch counts as full. After a full batch, more records are probably available."""
LARGE = 200
"""Number of records from which the next batch does not wait for further records."""
HELD_MS = 500
"""Maximum time for which Kafka holds a fetch without records, in milliseconds. A fetch of an idle group takes 3 ms of
processor time (docs/decisions/log-and-delivery.md)."""
ONE_FETCH_SECONDS = 0.1
"""Time for which a fetch from a log that announces its records waits for them, in seconds."""
IDLE_SECONDS = 2.0
"""Maximum time between fetches from a log that announces its records, in seconds."""
UNASSIGNED_SECONDS = 0.05
"""Time between checks of the assignment while no partition is assigned, in seconds."""
GAP_MS = 10
"""Minimum time between the last record of a full batch and the next record, in milliseconds, if there is such a gap in
the last tenth of the batch. Simultaneous events may be written in any order, so they should be in one batch."""
HOLD_SECONDS = 5.0
"""Maximum time for which fetched records wait for another partition, in seconds."""
_STEP_SECONDS = 0.1
_POSITION_SECONDS = 0.2
_LOG_TIME_DIGITS = 18
Timed = tuple[int, ConsumerRecord]


class Polling:
    """Source of a subscription's batches that replaces FastStream's.

    FastStream's own `get_msg` sleeps after an empty result, even if records have arrived since. `Subscription.attach`
    therefore replaces it, for which FastStream has no option.

    Args:
        wait_seconds: The time after a fetch of a few records until the next fetch. A batch costs much more than a
            record, so fewer and larger batches save processor time.
        unread: Waits until the log has unread records of the group, for at most the given number of seconds. None if
            fetches wait for records in the log itself.
    """

    def __init__(self, wait_seconds: float = 0.0, unread: Callable[[float], Awaitable[None]] | None = None) -> None:
        self.order = LogOrder()
        self._wait_seconds = wait_seconds
        self._unread = unread
        self.fetch_ms = HELD_MS if unread is None else round(ONE_FETCH_SECONDS * 1_000)
        """Maximum time for which the log holds a fetch without records, in milliseconds."""
        self._was_full = False
        self._next_fetch = 0.0
        """Earliest time of the next fetch, in monotonic seconds."""

    async def get_msg(self, consumer: AIOKafkaConsumer) -> tuple[ConsumerRecord, ...]:
        """Return the available records. If there are none, wait for some, up to two seconds.

        After a full batch, or while records are buffered, the next batch is fetched in parallel with the processing
        of this one. Otherwise the next fetch begins only when this batch has been processed, and returns all records
        that have arrived meanwhile. An earlier fetch would return only the first of them.
        """
        if not consumer.assignment():
            await asyncio.sleep(UNASSIGNED_SECONDS)
            return ()
        await asyncio.sleep(max(0.0, self._next_fetch - time.monotonic()))
        seconds = BATCH_TIMEOUT_SECONDS
        if self._unread is not None:
            seconds = ONE_FETCH_SECONDS
            if self.order.is_empty and not self._was_full:
                await self._unread(IDLE_SECONDS)
        consumer.resume(*consumer.paused())
        records = await self.order.next_batch(consumer, seconds, MAX_RECORDS)
        if self.order.is_empty and (len(records) < FULL if self._unread else 0 < len(records) < FULL):
            consumer.pause(*consumer.assignment())
        self._was_full = len(records) >= FULL
        if 0 < len(records) < LARGE and self.order.is_empty:
            self._next_fetch = time.monotonic() + self._wait_seconds
        return records


class LogOrder:
    """Fetched records of a consumer that have not been returned yet, each with its log time in milliseconds.

    Related topics are read in log order, for each partition number. A record is therefore returned only once no earlier
    one can follow from another topic's partition, or after HOLD_SECONDS.
    """

    def __init__(
        self, now: Callable[[], int] = lambda: time.time_ns() // 1_000_000, monotonic: Callable[[], float] | None = None
    ) -> None:
        self._now = now
        self._monotonic = monotonic or time.monotonic
        self._fetched: defaultdict[TopicPartition, deque[Timed]] = defaultdict(deque)
        self._latest: dict[TopicPartition, int] = {}
        """Log time of each partition's last fetched record; all later records have the same time or a later one."""
        self._waits: dict[TopicPartition, tuple[int | None, float]] = {}
        """Position and start of the delay, for each partition that delays the records of others."""

    @property
    def is_empty(self) -> bool:
        return not any(self._fetched.values())

    def forget(self) -> None:
        """Discard all records after a reassignment of the partitions; they will be fetched again."""
        self._fetched.clear()
        self._latest.clear()
        self._waits.clear()

    def rewind(self, consumer: AIOKafkaConsumer) -> None:
        """Discard all records, and seek back to them."""
        for partition, records in self._fetched.items():
            if records and partition in consumer.assignment():
                consumer.seek(partition, records[0][1].offset)
        self.forget()

    async def next_batch(self, consumer: AIOKafkaConsumer, seconds: float, limit: int) -> tuple[ConsumerRecord, ...]:
        """Return up to `limit` records in order of log time, waiting up to `seconds` if there are none.

        Raises the error of a fetch that failed, without losing records.
        """
        deadline = self._monotonic() + seconds
        while True:
            wait = 0.0 if not self.is_empty else max(0.0, deadline - self._monotonic())
            while await self._fetch(consumer, wait, limit):
                wait = 0.0
            bounds = await self._bounds(consumer)
            batch = self._take(bounds, limit)
            if batch or self._monotonic() >= deadline:
                return batch
            if not self.is_empty:
                await self._fetch(consumer, _STEP_SECONDS, limit)

    async def _fetch(self, consumer: AIOKafkaConsumer, seconds: float, limit: int) -> bool:
        """Fetch from the assigned partitions that have no buffered records. Return True if any record arrived."""
        wanted = [partition for partition in consumer.assignment() if not self._fetched.get(partition)]
        if not wanted:
            return False
        fetched = await consumer.getmany(*wanted, timeout_ms=int(seconds * 1_000), max_records=limit)
        failure: FetchFailure | None = None
        now = self._now()
        for partition, records in fetched.items():
            if isinstance(records[-1].value, FetchFailure):
                failure = records.pop().value
            latest = self._latest.get(partition, 0)
            for record in records:
                # A record dated in the future must not delay the others.
                latest = max(latest, min(record.timestamp, now))
                self._fetched[partition].append((latest, record))
            self._latest[partition] = latest
        if failure is not None:
            raise failure.error
        return bool(fetched)

    async def _bounds(self, consumer: AIOKafkaConsumer) -> Mapping[int, float]:
        """Return the time up to which records may be returned, by partition number.

        The bound is the time of the last record fetched from a partition that has unfetched records. A number without
        such a partition has no bound. A partition delays others for at most HOLD_SECONDS after its last progress.
        """
        unread = await self._unread(consumer)
        now = self._monotonic()
        bounds: dict[int, float] = {}
        waits: dict[TopicPartition, tuple[int | None, float]] = {}
        for partition, position in unread.items():
            before = self._waits.get(partition)
            waits[partition] = before if before is not None and before[0] == position else (position, now)
            if now - waits[partition][1] < HOLD_SECONDS:
                latest = self._latest.get(partition, -math.inf)
                bounds[partition.partition] = min(bounds.get(partition.partition, math.inf), latest)
        self._waits = waits
        return bounds

    async def _unread(self, consumer: AIOKafkaConsumer) -> dict[TopicPartition, int | None]:
        """Return the partitions that may have records which are not fetched yet, with their positions if known.

        Only related topics are considered, and only partition numbers for which records have been fetched.
        """
        numbers = {partition.partition for partition, records in self._fetched.items() if records}
        related = [lane for lane in consumer.assignment() if lane.topic in IN_LOG_ORDER and lane.partition in numbers]
        unread: dict[TopicPartition, int | None] = {}
        try:
            async with asyncio.timeout(_POSITION_SECONDS):
                for partition in related:
                    end = consumer.highwater(partition)
                    position = None if end is None else await consumer.position(partition)
                    if end is None or (position is not None and position < end):
                        unread[partition] = position
        except TimeoutError:  # a partition without a leader has no position
            pass
        return unread

    def _take(self, bounds: Mapping[int, float], limit: int) -> tuple[ConsumerRecord, ...]:
        """Remove and return up to `limit` of the earliest records within the bounds."""
        partitions = sorted(self._fetched, key=lambda lane: IN_LOG_ORDER.get(lane.topic, len(IN_LOG_ORDER)))
        ordered = merge(*(self._within(partition, bounds) for partition in partitions), key=itemgetter(0))
        earliest = list(islice(ordered, limit + 1))
        batch = earliest[: _end(earliest, limit)]
        for _, record in batch:
            self._fetched[TopicPartition(record.topic, record.partition)].popleft()
        return tuple(record for _, record in batch)

    def _within(self, partition: TopicPartition, bounds: Mapping[int, float]) -> Iterator[Timed]:
        bound = bounds.get(partition.partition, math.inf) if partition.topic in IN_LOG_ORDER else math.inf
        for timed in self._fetched[partition]:
            if timed[0] > bound:
                return
            yield timed


def _end(records: list[Timed], limit: int) -> int:
    """Return the size of a batch: all records, or `limit`, or less to end at a gap (GAP_MS) in the last tenth of it."""
    if len(records) <= limit:
        return len(records)
    gaps = (number for number in range(limit, limit - limit // 10, -1) if _has_gap(records, number))
    return next(gaps, limit)


def _has_gap(records: list[Timed], number: int) -> bool:
    return records[number][0] - records[number - 1][0] >= GAP_MS


def raw_record(record: ConsumerRecord, now: int) -> RawRecord:
    """Convert a fetched record.

    Args:
        now: The record's time in microseconds if the log itself does not set timestamps.
    """
    log_timed = record.timestamp_type == LOG_APPEND_TIME
    log_time = record.timestamp * 1_000 if log_timed else now
    coordinates = Coordinates(record.topic, record.partition, record.offset)
    if isinstance(record.value, RefusedBatch):
        return RawRecord(coordinates, None, None, (), log_time, record.value)
    replay_of = _replay_of(record.headers, log_time) if record.headers else None
    return RawRecord(coordinates, record.key, record.value, record.headers, log_time, None, replay_of, log_timed)


def _replay_of(headers: Headers, log_time: int) -> int | None:
    named = header(headers, LOG_TIME) or ""
    earlier = named.isdecimal() and len(named) <= _LOG_TIME_DIGITS and int(named) < log_time
    return int(named) if earlier else None
