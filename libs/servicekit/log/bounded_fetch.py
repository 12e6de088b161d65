"""Limits on the memory that a fetch may use, and placeholders for batches that cannot be read.

aiokafka limits the number of fetched bytes, but these may be compressed. It always decompresses a batch completely, so
a poll may return any amount of data.

The broker also accepts batches that aiokafka cannot read, for example because a header name is not UTF-8. Without a
placeholder, such a batch would block the consumer at its offset.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import aiokafka.consumer.fetcher as fetcher
import aiokafka.record._crecords.default_records as compiled_records
import aiokafka.record.default_records as default_records
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.structs import ConsumerRecord, TopicPartition

from servicekit.log import unpacking
from servicekit.log.records import RefusedBatch

POLL_BYTES = 4 * 1024 * 1024
"""Maximum size of the records that a poll returns from one partition, in bytes; the last record may exceed it."""
HEADER_BYTES = 100
"""Estimated memory of a header in bytes, without its name and content. In the log, an empty header takes two bytes."""
_DECODERS = {
    "gzip_decode": unpacking.with_few_headers(unpacking.unpack_gzip),
    "lz4_decode": unpacking.with_few_headers(unpacking.unpack_lz4),
    "snappy_decode": unpacking.with_few_headers(unpacking.unpack_snappy),
    "zstd_decode": unpacking.with_few_headers(unpacking.unpack_zstd),
}


def bound_fetching() -> None:
    """Apply the limits to every consumer in this process.

    aiokafka has no extension point for this, so private names are patched. A test fails if they no longer exist.
    Calling this function again has no effect.
    """
    for module in (default_records, compiled_records):
        for name, decode in _DECODERS.items():
            setattr(module, name, decode)
    fetcher.PartitionRecords = BoundedRecords
    fetcher.FetchResult = BoundedResult


class _Batches:
    """Iterator over the batches of a fetched partition.

    `last` is the most recently returned batch, or None if that batch was damaged.
    """

    def __init__(self, records: Any, check_crcs: bool) -> None:
        self._records = records
        self._check_crcs = check_crcs
        self.last: Any = None

    def has_next(self) -> bool:
        return bool(self._records.has_next())

    def next_batch(self) -> Any:
        self.last = None
        batch = self._records.next_batch()
        if self._check_crcs and not batch.validate_crc():
            raise CorruptRecordException("a batch has a wrong checksum")
        self.last = batch
        return batch


class BoundedRecords(fetcher.PartitionRecords):  # type: ignore[misc]  # aiokafka has no types
    """Records of a fetched partition, with placeholders for those that cannot be read.

    A placeholder replaces a batch that would decompress to too many bytes, or the rest of a batch from the first record
    that cannot be read. A damaged batch is fetched again instead.
    """

    _records: Any
    _check_crcs: bool
    next_fetch_offset: int
    _peeked: ConsumerRecord | None = None
    _after_peeked: int = 0

    def peek(self) -> ConsumerRecord | None:
        """Return the next record without consuming it, or None at the end."""
        if self._peeked is None:
            before = self.next_fetch_offset
            self._peeked = next(self, None)
            if self._peeked is not None:
                self._after_peeked, self.next_fetch_offset = self.next_fetch_offset, before
        return self._peeked

    def __next__(self) -> ConsumerRecord:
        if (record := self._peeked) is None:
            if self._records_iterator is None:
                raise StopIteration
            return super().__next__()
        self._peeked = None
        self.next_fetch_offset = self._after_peeked
        return record

    def _unpack_records(self) -> Iterator[ConsumerRecord]:
        self._records = batches = _Batches(self._records, self._check_crcs)
        self._check_crcs = False
        while True:
            try:
                yield from super()._unpack_records()
            except unpacking.UnpacksTooLarge as error:
                digest = sha256(error.packed).hexdigest()
                yield self._stand_in(batches.last, "batch_too_large", len(error.packed), digest)
            except (MemoryError, UnsupportedCodecError):
                raise
            except Exception:
                if batches.last is None:
                    raise
                if self.next_fetch_offset < batches.last.next_offset:
                    yield self._stand_in(batches.last, "batch_unreadable")
            else:
                return

    def _stand_in(self, batch: Any, reason: str, packed: int = 0, digest: str = "") -> ConsumerRecord:
        """Return a placeholder record for `batch`.

        The placeholder has the batch's last offset, so committing it skips the whole batch.
        """
        last = batch.next_offset - 1
        refused = RefusedBatch(max(batch.base_offset, self.next_fetch_offset), last, packed, digest, reason)
        self.next_fetch_offset = batch.next_offset
        at = (self._tp.topic, self._tp.partition, last, batch.max_timestamp, batch.timestamp_type)
        return ConsumerRecord(*at, None, refused, None, -1, 0, ())


class BoundedResult(fetcher.FetchResult):  # type: ignore[misc]
    """Fetched records of a partition, returned in chunks of about `POLL_BYTES`.

    If the records cannot be read any further, the error is raised by the next poll (see `FailedResult`). If the current
    poll raised it, the records already taken from other partitions would be lost, because the positions of these
    partitions have advanced.
    """

    _partition_records: Any
    is_held = False
    """True if the records wait for earlier ones of another partition (`ordered_fetch.py`)."""

    def __init__(self, tp: TopicPartition, **options: Any) -> None:
        super().__init__(tp, **options)
        self.fetched_at: int = self._assignment.state_value(tp).timestamp or 0
        """Time of the fetch by our clock, in milliseconds."""

    def calculate_backoff(self) -> float:
        """Return the delay in seconds before the broker's other partitions are fetched.

        While these records are held, the delay is 0, because the records for which they wait may be in those
        partitions.
        """
        return 0.0 if self.is_held else float(super().calculate_backoff())

    def head(self) -> int | None:
        """Return the next record's timestamp, or None if there is no record.

        The timestamp is in milliseconds and never later than the time of the fetch.
        """
        if not self.has_more() or not self.check_assignment(self._topic_partition):
            return None
        try:
            record = self._partition_records.peek()
        except Exception as error:
            self._fail(error)
            return None
        if record is None:
            self._update_position()
            self._partition_records = None
            return None
        return self.time_of(record)

    def getall(self, max_records: int | None = None) -> list[ConsumerRecord]:
        return self.take(max_records)[0]

    def take(
        self, max_records: int | None, until: float = math.inf, room: int = POLL_BYTES
    ) -> tuple[list[ConsumerRecord], int]:
        """Remove the next records and return them with their total size in bytes.

        Args:
            max_records: The maximum number of records, or None for no limit.
            until: The latest timestamp to include, in milliseconds.
            room: The maximum total size in bytes. The last record may exceed it.
        """
        if not self.has_more() or not self.check_assignment(self._topic_partition):
            return [], 0
        found: list[ConsumerRecord] = []
        size = 0
        ordered = until < math.inf
        records = self._partition_records
        try:
            while not ordered or (ahead := records.peek()) is None or self.time_of(ahead) <= until:
                if (record := next(records, None)) is None:
                    self._update_position()
                    self._partition_records = None
                    break
                found.append(record)
                size += _size(record)
                if size >= room or len(found) == max_records:
                    self._update_position()
                    break
            else:
                self._update_position()
        except Exception as error:
            self._fail(error)
        return found, size

    def time_of(self, record: ConsumerRecord) -> int:
        """Return the record's timestamp in milliseconds, capped at the time of its fetch."""
        return min(int(record.timestamp), self.fetched_at)

    def _fail(self, error: Exception) -> None:
        self._update_position()
        self._error = error
        self.__class__ = FailedResult


class FailedResult(BoundedResult):
    """Fetched records of a partition that cannot be read any further.

    aiokafka treats every result whose class is not exactly its `FetchResult` as a failure: it raises the error, drops
    the result, and fetches the partition again from its current position.
    """

    _error: Exception

    def check_raise(self) -> None:
        raise self._error


def _size(record: ConsumerRecord) -> int:
    """Return the size of a record in bytes, including its key and headers, which may be as large as the value."""
    size: int = max(0, record.serialized_key_size) + max(0, record.serialized_value_size)
    for name, content in record.headers:
        size += len(name) + len(content or b"") + HEADER_BYTES
    return size
