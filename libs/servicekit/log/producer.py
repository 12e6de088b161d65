"""Producer that awaits one future per batch of records instead of one per record."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from contracts.ids import partition_of
from servicekit.errors import LogUnavailable
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.fetched import LOG_APPEND_TIME
from servicekit.log.messages import Message, Written
from servicekit.log.settings import MESSAGE_LIMIT, PRODUCER_SETTINGS
from servicekit.stages import stage

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
            lanes = await self._lanes(producer, messages)
        except (KafkaError, OSError) as error:  # the producer stays usable after a missing or forbidden topic
            raise LogUnavailable(type(error).__name__) from error
        try:
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
        return written

    async def _lanes(
        self, producer: AIOKafkaProducer, messages: Sequence[Message]
    ) -> Mapping[tuple[str, int], Sequence[int]]:
        """Group the messages by topic and partition, and return the indexes of the messages in each group."""
        lanes: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        for index, message in enumerate(messages):
            lanes[message.topic, await self._partition(producer, message)].append(index)
        return lanes

    async def _send(
        self,
        producer: AIOKafkaProducer,
        messages: Sequence[Message],
        lanes: Mapping[tuple[str, int], Sequence[int]],
    ) -> list[Written]:
        futures: list[asyncio.Future[object]] = []
        counted: list[tuple[str, int, list[int]]] = []
        for (topic, partition), indexes in lanes.items():
            batch, held = producer.create_batch(), list[int]()
            for index in indexes:
                message = messages[index]
                key = None if message.key is None else message.key.encode()
                if batch.append(key=key, value=message.value, timestamp=None, headers=list(message.headers)) is None:
                    futures.append(await producer.send_batch(batch, topic, partition=partition))
                    counted.append((topic, partition, held))
                    batch, held = producer.create_batch(), []
                    batch.append(key=key, value=message.value, timestamp=None, headers=list(message.headers))
                held.append(index)
            futures.append(await producer.send_batch(batch, topic, partition=partition))
            counted.append((topic, partition, held))
        places: dict[int, Written] = {}
        for future, (topic, partition, held) in zip(futures, counted, strict=True):
            metadata = await future
            base = int(getattr(metadata, "offset", -1))
            at = _log_time(metadata)
            places.update((index, Written(topic, partition, base + n, at)) for n, index in enumerate(held))
        return [places[index] for index in range(len(messages))]

    async def _partition(self, producer: AIOKafkaProducer, message: Message) -> int:
        if message.partition is not None:
            return message.partition
        partitions = await producer.partitions_for(message.topic)
        return partition_of(message.key or "", len(partitions))

    async def _drop(self, producer: AIOKafkaProducer) -> None:
        if self._producer is producer:
            self._producer = None
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            try:
                await asyncio.wait_for(producer.stop(), 2)
            except TimeoutError:
                # stop() was still flushing: its records must not be written after those of its successor.
                await producer._sender.close()
                await producer.client.close()


def _log_time(metadata: object) -> int | None:
    """Return the timestamp that the log has given a batch, in microseconds, or None if the log sets no timestamps.

    librdkafka's in-memory cluster always returns the timestamp 1234, which counts as missing.
    """
    at = getattr(metadata, "timestamp", None)
    by_log = getattr(metadata, "timestamp_type", None) == LOG_APPEND_TIME
    return at * 1_000 if by_log and at is not None and at > _EARLIEST_MS else None
