"""Subscription of a consumer group, which fetches batches, commits offsets, rewinds, and reports its state."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from faststream.kafka import KafkaBroker
from faststream.kafka.message import FAKE_CONSUMER, KafkaMessage

from contracts.topics import Consumer
from servicekit import metrics
from servicekit.clock import Clock
from servicekit.error_kinds import in_words
from servicekit.log.backoff import Interrupted
from servicekit.log.delivery import Delivery
from servicekit.log.fetch import Polling, raw_record
from servicekit.log.health import STUCK_SECONDS
from servicekit.log.records import RawRecord
from servicekit.log.settings import SESSION_TIMEOUT_MS, SUBSCRIBER_SETTINGS
from servicekit.logging import frames, logger

DRAIN_SECONDS = 5.0
"""Maximum time that a rebalance waits for the current batch, in seconds."""

log = logger("subscriber")
Committed = Callable[[Consumer, Mapping[TopicPartition, int]], None]
"""Callback for a group's commits: its arguments are the group, and the committed next offset by partition."""


class Span(NamedTuple):
    """Range of a partition's offsets in a batch: the first offset, and the offset after the last record."""

    first: int
    next: int


def spans_of(records: Iterable[RawRecord]) -> dict[TopicPartition, Span]:
    """Return the range of offsets of each partition in `records`.

    The records of a partition must be in order.
    """
    spans: dict[tuple[str, int], Span] = {}
    for raw in records:
        topic, partition, offset = raw.coordinates
        span = spans.get((topic, partition))
        spans[topic, partition] = Span(offset if span is None else span.first, offset + 1)
    return {TopicPartition(*name): span for name, span in spans.items()}


class Failing(NamedTuple):
    """Unexpected failures of consecutive batches: the monotonic time of the first one, and the class of its error."""

    since: float
    error: str


class Subscription(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Subscription of a consumer group that passes batches to a `Delivery` and commits the processed records."""

    def __init__(
        self,
        delivery: Delivery,
        clock: Clock,
        on_commit: Committed = lambda _group, _offsets: None,
        is_prompt: bool = False,
    ) -> None:
        self.delivery = delivery
        self.group = delivery.group
        self._clock = clock
        self._on_commit = on_commit
        self.is_prompt = is_prompt
        self._busy = asyncio.Lock()
        self._stopping = False
        self._epoch = 0
        self._committed: dict[TopicPartition, int] = {}
        self._log_times: dict[TopicPartition, int] = {}
        """Log time of each partition's last committed record, in microseconds; initially the time of assignment."""
        self._deleted: Counter[str] = Counter()
        """Number of records by topic that were deleted from the log before they were read."""
        self._subscriber: Any = None
        self.polling = Polling()
        self._failing: Failing | None = None
        self.assigned = False
        self.polled_at = clock.monotonic()

    def attach(self, broker: KafkaBroker, polling: Polling) -> None:
        """Subscribe through FastStream's broker, with batches from `polling` once the broker has been started.

        FastStream's own parsing, acknowledgement and error handling are not used (docs/decisions/log-and-delivery.md).
        """
        self.polling = polling
        self._subscriber = broker.subscriber(
            *(topic.name for topic in self.delivery.topics),
            group_id=self.group,
            listener=self,
            parser=_raw_parser,
            decoder=_raw_decoder,
            title=self.group,
            fetch_max_wait_ms=polling.fetch_ms,
            **SUBSCRIBER_SETTINGS,
        )
        self._subscriber.get_msg = self.polling.get_msg
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
            lanes = {(partition.topic, partition.partition) for partition in assigned}
            ours = [raw_record(record, now) for record in records if (record.topic, record.partition) in lanes]
            if not ours:
                return
            spans = spans_of(ours)

            async def commit(records: Sequence[RawRecord]) -> bool:
                done = spans if records is ours else spans_of(records)
                accepted = await self._commit(consumer, done, epoch, arrived)
                if accepted:
                    self._log_times |= {TopicPartition(*raw.coordinates[:2]): raw.log_time for raw in records}
                for partition, span in done.items():
                    spans[partition] = Span(span.next, spans[partition].next)
                return accepted

            try:
                await self._learn_committed(consumer, spans)
                await self.delivery.deliver(ours, commit)
            except Interrupted:
                self._rewind(consumer, spans, epoch)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                log.error("batch_failed", group=self.group, error=type(error).__name__, where=frames(error))
                self._rewind(consumer, spans, epoch)
                self._failing = self._failing or Failing(self._clock.monotonic(), type(error).__name__)
                with contextlib.suppress(Interrupted):
                    await self.delivery.backoff.wait_seconds(1)
            else:
                self._failing = None
            finally:
                self.polled_at = self._clock.monotonic()

    async def _commit(
        self, consumer: AIOKafkaConsumer, spans: Mapping[TopicPartition, Span], epoch: int, arrived: float
    ) -> bool:
        """Commit the offset after the last record of each partition, retrying while the broker is unavailable.

        If the partitions were reassigned since the batch was fetched, nothing is committed, because a commit could move
        the offset back.

        Returns:
            True if the log accepted the commit and no other consumer can have processed the records in the meantime.

        Raises:
            Interrupted: If the wait for the broker is interrupted.
        """
        offsets = {partition: span.next for partition, span in spans.items()}
        attempt = 0
        while epoch == self._epoch:
            try:
                await consumer.commit(offsets)
            except (CommitFailedError, IllegalStateError) as error:
                log.warning("commit_refused", group=self.group, error=type(error).__name__)
                return False
            except KafkaError as error:
                attempt += 1
                self.delivery.stall.mark_waiting(in_words(error))
                log.warning("commit_waits", group=self.group, attempt=attempt, error=type(error).__name__)
                await self.delivery.backoff.wait(attempt)
                continue
            self._committed.update(offsets)
            self._on_commit(self.group, offsets)
            began = max(arrived, self.delivery.began)
            overdue = self._clock.monotonic() - began > SESSION_TIMEOUT_MS / 1_000
            return epoch == self._epoch and not overdue
        return False

    def _rewind(self, consumer: AIOKafkaConsumer, spans: Mapping[TopicPartition, Span], epoch: int) -> None:
        """Seek back to the first uncommitted record of each partition in the batch, so that the records are read again.

        Partitions that this process no longer reads are skipped. Their next reader starts at the committed offset
        anyway.
        """
        if epoch != self._epoch:
            return
        self.polling.order.rewind(consumer)
        for partition, span in spans.items():
            if span.first == span.next:
                continue
            with contextlib.suppress(IllegalStateError):
                consumer.seek(partition, span.first)

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Wait for the current batch, because its offsets can still be committed.

        A batch that is waiting for a retry gives up.
        """
        self.assigned = False
        self.polling.order.forget()
        self.delivery.backoff.give_up.set()
        try:
            await asyncio.wait_for(self._busy.acquire(), DRAIN_SECONDS)
        except TimeoutError:
            log.warning("drain_too_slow", group=self.group)
        else:
            self._busy.release()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._epoch += 1
        self.polling.order.forget()
        self._failing = None
        self._committed.clear()
        self._log_times.clear()
        self.assigned = True
        if not self._stopping:
            self.delivery.backoff.give_up.clear()

    async def stop(self) -> None:
        """Refuse further batches, and wait until the current one is done or gives up."""
        self._stopping = True
        self.delivery.backoff.give_up.set()
        self.delivery.repair_backoff.give_up.set()
        try:
            await asyncio.wait_for(self._busy.acquire(), DRAIN_SECONDS)
        except TimeoutError:
            log.warning("stop_too_slow", group=self.group)
        else:
            self._busy.release()

    async def lag(self) -> int:
        """Return the number of uncommitted records in the partitions that this process reads."""
        consumer = self.consumer
        partitions = [] if consumer is None else list(consumer.assignment())
        behind: dict[TopicPartition, int] = {}
        if consumer is not None and partitions:
            # Concurrently: each response may have to wait for a fetch on the same connection.
            ends, _ = await asyncio.gather(
                consumer.end_offsets(partitions), self._learn_committed(consumer, partitions)
            )
            uncommitted = [partition for partition in partitions if ends[partition] > self._committed.get(partition, 0)]
            begins = await consumer.beginning_offsets(uncommitted) if uncommitted else {}
            for partition in uncommitted:
                unread = ends[partition] - max(self._committed.get(partition, 0), begins[partition])
                if unread > 0:
                    behind[partition] = unread
        lag = sum(behind.values())
        now = self._clock.now()
        metrics.LAG.labels(self.group).set(lag)
        metrics.COMMITTED_LOG_TIME.labels(self.group).set(
            min((self._log_times.setdefault(partition, now) for partition in behind), default=now) / 1_000_000
        )
        if lag == 0 and partitions:
            self.polled_at = self._clock.monotonic()
        return lag

    async def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the next offset that the group has committed on each partition, or 0 if it has committed none.

        The log is asked only about partitions that another process reads or on which this process has not committed
        yet.
        """
        consumer = self.consumer
        if consumer is None:
            return dict.fromkeys(partitions, 0)
        ours = consumer.assignment().intersection(partitions)
        await self._learn_committed(consumer, ours)
        offsets = {partition: self._committed.get(partition, 0) for partition in ours}
        others = [partition for partition in partitions if partition not in ours]
        for partition, offset in zip(others, await asyncio.gather(*map(consumer.committed, others)), strict=True):
            offsets[partition] = offset or 0
        return offsets

    async def _learn_committed(self, consumer: AIOKafkaConsumer, partitions: Collection[TopicPartition]) -> None:
        """Fetch the unknown committed offsets of `partitions`, and count the records that were deleted unread.

        Only the process that reads a partition commits on it, so an offset stays valid until the next reassignment. 0
        means that there is no commit.
        """
        while unknown := [partition for partition in partitions if partition not in self._committed]:
            epoch = self._epoch
            begins, *offsets = await asyncio.gather(
                consumer.beginning_offsets(unknown), *map(consumer.committed, unknown)
            )
            if epoch != self._epoch:
                continue  # another member may have committed since the query
            for partition, offset in zip(unknown, offsets, strict=True):
                if partition not in self._committed:
                    self._committed[partition] = offset or 0
                    if offset is not None and offset < begins[partition]:
                        self._note_deleted(partition, begins[partition], begins[partition] - offset)

    def _note_deleted(self, partition: TopicPartition, begin: int, records: int) -> None:
        """Count and log records that were deleted from the log before this group read them."""
        self._deleted[partition.topic] += records
        metrics.GAPS.labels(self.group).inc(records)
        position = {"topic": partition.topic, "partition": partition.partition, "up_to": begin}
        log.error("log_gap", group=self.group, records=records, **position)

    @property
    def warnings(self) -> list[str]:
        """Warnings for operators about the running group, one sentence each."""
        return [
            f"{self.group}: {records:,} records of {topic} were deleted from the log before they were read"
            for topic, records in self._deleted.items()
        ]

    @property
    def at_work(self) -> bool:
        """True if a batch is being handled or waits for a retry."""
        return self._busy.locked()

    def not_ready(self) -> str | None:
        """Return the reason why this group is not reading the log, or None if it is.

        A group without partitions is not reading. A group that neither processes a batch nor has polled the log
        within the last minute is not reading either.
        """
        if not self.assigned:
            return "it has no partitions"
        if topic := self.delivery.breaker.topic:
            return f"it is held, because its own code keeps failing on {topic}: the log line bug says where"
        if self._failing and self._clock.monotonic() - self._failing.since >= STUCK_SECONDS:
            return f"its batches keep failing ({self._failing.error}): the log line batch_failed says where"
        if not self.at_work and self._clock.monotonic() - self.polled_at >= 60:
            return "it has not looked into the log for a minute"
        return self.delivery.stall.reason


async def _raw_parser(message: Any) -> KafkaMessage:
    """Wrap the raw batch without parsing it.

    FastStream's own parser fails if a header is not text.
    """
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
