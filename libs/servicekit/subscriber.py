"""The one place that builds brokers and subscribers: every setting of FastStream and aiokafka that matters is set here.

FastStream's own parsing, acknowledgement and error handling are bypassed on purpose; docs/decisions says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from faststream import AckPolicy
from faststream.kafka import KafkaBroker
from faststream.kafka.message import FAKE_CONSUMER, KafkaMessage

from contracts.topics import Consumer
from servicekit import metrics
from servicekit.clock import Clock
from servicekit.delivery import Delivery, Interrupted
from servicekit.logging import frames, logger
from servicekit.records import Coordinates, RawRecord

SESSION_TIMEOUT_MS = 10_000
METADATA_AGE_MS = 10_000
"""How old what a consumer knows of its topics may get. One that is deleted and made again, or grows, is read on after
that at most; with aiokafka's own five minutes nothing of it would arrive for as long."""
DRAIN_SECONDS = 5.0
"""How long a rebalance waits for the batch at work."""
LOG_APPEND_TIME = 1
_DAY_MS = 86_400_000

SUBSCRIBER_SETTINGS: Mapping[str, Any] = {
    "batch": True,
    "ack_policy": AckPolicy.MANUAL,
    "auto_offset_reset": "earliest",
    "partition_assignment_strategy": (RangePartitionAssignor,),
    "session_timeout_ms": SESSION_TIMEOUT_MS,
    "heartbeat_interval_ms": 3_000,
    "rebalance_timeout_ms": 60_000,
    "max_poll_interval_ms": _DAY_MS,
    "max_records": 1_000,
    "batch_timeout_ms": 10,
    "fetch_max_wait_ms": 100,
    "max_partition_fetch_bytes": 1_310_720,
    "fetch_max_bytes": 16 * 1024 * 1024,
    "no_reply": True,
}
"""What every subscriber is built with; the poll interval is a day because liveness is judged by `Subscription`."""

log = logger("subscriber")
Committed = Callable[[Consumer, Mapping[TopicPartition, int]], None]
"""Told the next offsets that the log has accepted from a group."""


class Subscription(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """One group's subscription: hands batches to its Delivery and commits what the Delivery has taken in."""

    def __init__(self, delivery: Delivery, clock: Clock, on_commit: Committed = lambda _group, _offsets: None) -> None:
        self.delivery = delivery
        self.group = delivery.group
        self._clock = clock
        self._on_commit = on_commit
        self._busy = asyncio.Lock()
        self._stopping = False
        self._epoch = 0
        self._committed: dict[TopicPartition, int] = {}
        self._gap_up_to: dict[TopicPartition, int] = {}
        self._subscriber: Any = None
        self.assigned = False
        self.polled_at = clock.monotonic()

    def attach(self, broker: KafkaBroker) -> None:
        """Register with `broker`; consumption starts when the broker does."""
        names = [topic.name for topic in self.delivery.topics]
        self._subscriber = broker.subscriber(
            *names,
            group_id=self.group,
            listener=self,
            parser=_raw_parser,
            decoder=_raw_decoder,
            title=self.group,
            **SUBSCRIBER_SETTINGS,
        )
        self._subscriber(self._on_batch)

    @property
    def consumer(self) -> AIOKafkaConsumer | None:
        return None if self._subscriber is None else self._subscriber.consumer

    async def _on_batch(self, message: Any) -> None:
        consumer = self.consumer
        self.polled_at = self._clock.monotonic()
        if consumer is None or self._stopping:
            return
        epoch, arrived = self._epoch, self._clock.monotonic()
        async with self._busy:
            if epoch != self._epoch:
                return
            records: Sequence[ConsumerRecord] = message
            assigned = consumer.assignment()
            now = self._clock.now()
            ours = [
                _raw(record, now) for record in records if TopicPartition(record.topic, record.partition) in assigned
            ]
            if not ours:
                return
            try:
                await self.delivery.deliver(ours, lambda: self._commit(consumer, ours, epoch, arrived))
            except Interrupted:
                self._rewind(consumer, ours, epoch)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                log.error("batch_failed", group=self.group, error=type(error).__name__, where=frames(error))
                self._rewind(consumer, ours, epoch)
                with contextlib.suppress(Interrupted):
                    await self.delivery.patience.wait_seconds(1)
            finally:
                self.polled_at = self._clock.monotonic()

    async def _commit(
        self, consumer: AIOKafkaConsumer, records: Iterable[RawRecord], epoch: int, arrived: float
    ) -> bool:
        """Commit the exact next offsets, waiting through outages of the broker.

        True only if the log accepted them and nobody else can have worked on these records meanwhile. A batch of an
        earlier assignment commits nothing: it could move the offset back. Raises Interrupted where waiting was ended.
        """
        offsets = next_offsets(records)
        attempt = 0
        while epoch == self._epoch:
            try:
                await consumer.commit(offsets)
            except (CommitFailedError, IllegalStateError) as error:
                log.warning("commit_refused", group=self.group, error=type(error).__name__)
                return False
            except KafkaError as error:
                attempt += 1
                log.warning("commit_waits", group=self.group, attempt=attempt, error=type(error).__name__)
                await self.delivery.patience.wait(attempt)
                continue
            self._committed.update(offsets)
            self._on_commit(self.group, offsets)
            overdue = self._clock.monotonic() - arrived > SESSION_TIMEOUT_MS / 1_000
            return epoch == self._epoch and not overdue
        return False

    def _rewind(self, consumer: AIOKafkaConsumer, records: Iterable[RawRecord], epoch: int) -> None:
        """Read the batch again where it is still ours; a later assignment starts from what was committed anyway."""
        if epoch != self._epoch:
            return
        first: dict[TopicPartition, int] = {}
        for raw in records:
            at = raw.coordinates
            first.setdefault(TopicPartition(at.topic, at.partition), at.offset)
        for partition, offset in first.items():
            try:
                consumer.seek(partition, offset)
            except IllegalStateError:
                continue

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Let the batch at work finish, for commits are still valid here; one that waits gives up at once."""
        self.assigned = False
        self.delivery.patience.give_up.set()
        try:
            await asyncio.wait_for(self._busy.acquire(), DRAIN_SECONDS)
        except TimeoutError:
            log.warning("drain_too_slow", group=self.group)
        else:
            self._busy.release()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._epoch += 1
        self._committed.clear()
        self.assigned = True
        if not self._stopping:
            self.delivery.patience.give_up.clear()

    async def stop(self) -> None:
        """Take no further batch, and wait until the one at work is done or has given up."""
        self._stopping = True
        self.delivery.patience.give_up.set()
        self.delivery.mending.give_up.set()
        try:
            await asyncio.wait_for(self._busy.acquire(), DRAIN_SECONDS)
        except TimeoutError:
            log.warning("stop_too_slow", group=self.group)
        else:
            self._busy.release()

    async def lag(self) -> int:
        """Records in the log that this member's partitions have not committed.

        A position before the log's beginning is a gap: it is counted and logged, never passed over in silence.
        """
        consumer = self.consumer
        if consumer is None:
            return 0
        partitions = list(consumer.assignment())
        if not partitions:
            return 0
        ends = await consumer.end_offsets(partitions)
        begins = await consumer.beginning_offsets(partitions)
        lag = 0
        for partition in partitions:
            committed = self._committed.get(partition)
            if committed is None:
                committed = await consumer.committed(partition)
                if committed is not None:
                    self._committed.setdefault(partition, committed)
            seen = max(committed or 0, self._gap_up_to.get(partition, 0))
            if committed is not None and seen < begins[partition]:
                missing = begins[partition] - seen
                self._gap_up_to[partition] = begins[partition]
                metrics.GAPS.labels(self.group).inc(missing)
                log.error("log_gap", group=self.group, topic=partition.topic, records=missing)
            lag += max(0, ends[partition] - max(committed or 0, begins[partition]))
        metrics.LAG.labels(self.group).set(lag)
        if lag == 0:
            self.polled_at = self._clock.monotonic()
        return lag

    @property
    def at_work(self) -> bool:
        """Whether a batch is being taken in, or waits to be tried again."""
        return self._busy.locked()

    def alive(self) -> bool:
        """Assigned, and within the last minute a batch came through, is at work, or there was nothing to take in."""
        fresh = self._clock.monotonic() - self.polled_at < 60 or self._busy.locked()
        return self.assigned and fresh and not self.delivery.breaker.open


def next_offsets(records: Iterable[RawRecord]) -> dict[TopicPartition, int]:
    """The offset after the last record of each partition."""
    offsets: defaultdict[TopicPartition, int] = defaultdict(int)
    for raw in records:
        partition = TopicPartition(raw.coordinates.topic, raw.coordinates.partition)
        offsets[partition] = max(offsets[partition], raw.coordinates.offset + 1)
    return dict(offsets)


def build_broker(bootstrap: str, *, client_id: str, subscriptions: Sequence[Subscription]) -> KafkaBroker:
    """A broker with its subscriptions registered, not yet connected."""
    broker = KafkaBroker(
        bootstrap,
        client_id=client_id,
        graceful_timeout=DRAIN_SECONDS * 2,
        metadata_max_age_ms=METADATA_AGE_MS,
        allow_auto_create_topics=False,
        logger=None,
        log_level=logging.DEBUG,
    )
    for subscription in subscriptions:
        subscription.attach(broker)
    return broker


async def _raw_parser(message: Any) -> KafkaMessage:
    """Wraps the raw batch as it is: FastStream's own parser raises on headers that are no text."""
    return KafkaMessage(
        body=b"",
        headers={},
        batch_headers=[],
        reply_to="",
        content_type=None,
        path={},
        correlation_id=None,
        message_id="batch",
        raw_message=message,
        consumer=FAKE_CONSUMER,
    )


async def _raw_decoder(message: KafkaMessage) -> Any:
    return message.raw_message


def _raw(record: ConsumerRecord, now: int) -> RawRecord:
    log_time = record.timestamp * 1_000 if record.timestamp_type == LOG_APPEND_TIME else now
    at = Coordinates(record.topic, record.partition, record.offset)
    return RawRecord(at, record.key, record.value, record.headers, log_time)
