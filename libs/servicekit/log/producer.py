"""Producer that awaits one future per batch of records instead of one per record."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from servicekit.clock import stage
from servicekit.errors import LogUnavailable
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.fetch import LOG_APPEND_TIME
from servicekit.log.records import Message, Written
from servicekit.log.settings import MESSAGE_LIMIT, PRODUCER_SETTINGS

Lanes = Mapping[tuple[str, int], Sequence[int]]
"""Indexes of messages by topic and partition."""
_EARLIEST_MS = 10**12
"""9 September 2001 in epoch milliseconds. Every real record has a later log time."""


class BatchProducer:
    """Idempotent producer that waits for the acknowledgement of all replicas.

    `compression` is the name of a codec (gzip, snappy, lz4 or zstd), or None. `produced` is the number of written
    records by topic.
    """

    def __init__(self, bootstrap: Bootstrap, *, client_id: str, compression: str | None = None) -> None:
        self.bootstrap = bootstrap
        self._client_id = client_id
        self._compression = compression
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()
        self.produced: Counter[str] = Counter()

    async def start(self) -> None:
        async with self._starting:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    **client_options(self.bootstrap),
                    client_id=self._client_id,
                    compression_type=self._compression,
                    **PRODUCER_SETTINGS,
                )
                try:
                    await producer.start()
                except BaseException:
                    await producer.stop()
                    raise
                self._producer = producer

    async def stop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        if not messages:
            return []
        if any(message.size > MESSAGE_LIMIT for message in messages):
            raise MessageSizeTooLargeError("a record exceeds the topic's size limit")
        with stage("produce"):
            return await self._acknowledged(messages)

    async def _acknowledged(self, messages: Sequence[Message]) -> list[Written]:
        """Write the records and return their positions (see `Producer.send`)."""
        try:
            await self.start()
            producer = self._producer
            assert producer is not None
            if any(message.in_all_partitions and message.partition is None for message in messages):
                await _update_metadata(producer)
            lanes, copies = await self._lanes(producer, messages)
        except (KafkaError, OSError) as error:  # the producer stays usable after a missing or forbidden topic
            raise LogUnavailable(type(error).__name__) from error
        try:
            if copies:
                await self._send(producer, messages, copies)
            written = await self._send(producer, messages, lanes)
        except asyncio.CancelledError:
            await self._drop(producer)
            raise
        except MessageSizeTooLargeError:
            raise
        except (KafkaError, OSError) as error:
            # An idempotent producer may reject all writes after a failure; another producer starts another sequence.
            await self._drop(producer)
            raise LogUnavailable(type(error).__name__) from error
        self.produced.update(message.topic for message in messages)
        return [written[index] for index in range(len(messages))]

    async def _lanes(self, producer: AIOKafkaProducer, messages: Sequence[Message]) -> tuple[Lanes, Lanes]:
        """Group the messages by topic and partition.

        Returns:
            The indexes of the messages in each group, and the indexes of those to copy to other partitions.
        """
        lanes: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        copies: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        for index, message in enumerate(messages):
            partition, others = await self._partitions(producer, message)
            lanes[message.topic, partition].append(index)
            for other in others:
                copies[message.topic, other].append(index)
        return lanes, copies

    async def _send(
        self,
        producer: AIOKafkaProducer,
        messages: Sequence[Message],
        lanes: Lanes,
    ) -> dict[int, Written]:
        """Write the records, and return their positions by index."""
        futures: list[asyncio.Future[object]] = []
        counted: list[tuple[str, int, list[int]]] = []
        for (topic, partition), indexes in lanes.items():
            batch, appended = producer.create_batch(), list[int]()
            for index in indexes:
                message = messages[index]
                key = None if message.key is None else message.key.encode()
                if batch.append(key=key, value=message.value, timestamp=None, headers=list(message.headers)) is None:
                    futures.append(await producer.send_batch(batch, topic, partition=partition))
                    counted.append((topic, partition, appended))
                    batch, appended = producer.create_batch(), []
                    batch.append(key=key, value=message.value, timestamp=None, headers=list(message.headers))
                appended.append(index)
            futures.append(await producer.send_batch(batch, topic, partition=partition))
            counted.append((topic, partition, appended))
        places: dict[int, Written] = {}
        for future, (topic, partition, appended) in zip(futures, counted, strict=True):
            metadata = await future
            base = int(getattr(metadata, "offset", -1))
            log_time = _log_time(metadata)
            places.update((index, Written(topic, partition, base + n, log_time)) for n, index in enumerate(appended))
        return places

    async def _partitions(self, producer: AIOKafkaProducer, message: Message) -> tuple[int, Sequence[int]]:
        """Return the message's partition, and the other partitions to which it is written as well."""
        if message.partition is not None:
            return message.partition, ()
        count = len(await producer.partitions_for(message.topic))
        partition = message.partition_among(count)
        return partition, [n for n in range(count) if n != partition] if message.in_all_partitions else ()

    async def _drop(self, producer: AIOKafkaProducer) -> None:
        if self._producer is producer:
            self._producer = None
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            try:
                await asyncio.wait_for(producer.stop(), 2)
            except TimeoutError:
                # stop() was still flushing: its records must not be written after those of its successor. aiokafka has
                # no other way to end a producer (https://github.com/aio-libs/aiokafka/issues/1101).
                await producer._sender.close()
                await producer.client.close()


async def _update_metadata(producer: AIOKafkaProducer) -> None:
    """Refresh the metadata, to find added partitions. Raises LogUnavailable if the log does not respond."""
    if not await producer.client.force_metadata_update():
        raise LogUnavailable("its partitions are unknown")


def _log_time(metadata: object) -> int | None:
    """Return the timestamp that the log has given a batch, in microseconds, or None if the log sets no timestamps.

    librdkafka's in-memory cluster always returns the timestamp 1234, which counts as missing.
    """
    timestamp = getattr(metadata, "timestamp", None)
    by_log = getattr(metadata, "timestamp_type", None) == LOG_APPEND_TIME
    return timestamp * 1_000 if by_log and timestamp is not None and timestamp > _EARLIEST_MS else None
