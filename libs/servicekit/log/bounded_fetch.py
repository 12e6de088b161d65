"""Bounds the bytes that a consumer holds unpacked, and reads past batches that cannot be read.

aiokafka bounds what it fetches, which may be compressed; then it unpacks each batch whole and hands out any number of
bytes at once. A batch that the broker took but aiokafka cannot read, such as one with a header whose name is no UTF-8,
would end the consumer at its offset again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import aiokafka.consumer.fetcher as fetcher
import aiokafka.record._crecords.default_records as compiled_records
import aiokafka.record.default_records as default_records
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.structs import ConsumerRecord

from servicekit.log import unpacking
from servicekit.log.records import RefusedBatch

POLL_BYTES = 4 * 1024 * 1024
"""Bytes of one partition's records that are handed out at once; one record more may come on top."""
HEADER_BYTES = 100
"""What a header takes besides its name and content: one that is empty lies in two bytes of the log."""
_DECODERS = {
    "gzip_decode": unpacking.with_few_headers(unpacking.unpack_gzip),
    "lz4_decode": unpacking.with_few_headers(unpacking.unpack_lz4),
    "snappy_decode": unpacking.with_few_headers(unpacking.unpack_snappy),
    "zstd_decode": unpacking.with_few_headers(unpacking.unpack_zstd),
}


def bound_fetching() -> None:
    """Make every consumer of this process keep the bounds. May be called again.

    aiokafka offers no place for this, so its own names are replaced; a test fails where it no longer has them.
    """
    for module in (default_records, compiled_records):
        for name, decode in _DECODERS.items():
            setattr(module, name, decode)
    fetcher.PartitionRecords = BoundedRecords
    fetcher.FetchResult = BoundedResult


class _Batches:
    """The batches of a fetched partition; `last` is the one given out last, whose bytes are as they were sent."""

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
            raise CorruptRecordException("a batch was damaged on its way")
        self.last = batch
        return batch


class BoundedRecords(fetcher.PartitionRecords):  # type: ignore[misc]  # aiokafka has no types
    """Records of a fetched partition; one record stands for a batch that would unpack to too much, and for what is left
    of one that cannot be read. A damaged batch is fetched again."""

    _records: Any
    _check_crcs: bool
    next_fetch_offset: int

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
        """A record at the batch's last offset, so that a commit of it passes the whole batch."""
        last = batch.next_offset - 1
        refused = RefusedBatch(max(batch.base_offset, self.next_fetch_offset), last, packed, digest, reason)
        self.next_fetch_offset = batch.next_offset
        at = (self._tp.topic, self._tp.partition, last, batch.max_timestamp, batch.timestamp_type)
        return ConsumerRecord(*at, None, refused, None, -1, 0, ())


class BoundedResult(fetcher.FetchResult):  # type: ignore[misc]
    """Fetched records of a partition, returned at most `POLL_BYTES` at a time.

    An error is raised at the next poll, by `FailedResult`: raised at once it would take away what the same poll has
    handed out of other partitions, whose positions are past it.
    """

    _partition_records: Any

    def getall(self, max_records: int | None = None) -> list[ConsumerRecord]:
        if not self.check_assignment(self._topic_partition) or not self.has_more():
            return []
        found: list[ConsumerRecord] = []
        size = 0
        try:
            for record in self._partition_records:
                found.append(record)
                size += _size(record)
                if size >= POLL_BYTES or len(found) == max_records:
                    self._update_position()
                    break
            else:
                self._update_position()
                self._partition_records = None
        except Exception as error:
            self._update_position()
            self._error = error
            self.__class__ = FailedResult
        return found


class FailedResult(BoundedResult):
    """Fetch that cannot continue. aiokafka asks what is not exactly its `FetchResult` for its error, drops it, and
    fetches the partition anew from the position that it has."""

    _error: Exception

    def check_raise(self) -> None:
        raise self._error


def _size(record: ConsumerRecord) -> int:
    """The bytes that a record holds: a key or a header may be as large as a value."""
    size: int = max(0, record.serialized_key_size) + max(0, record.serialized_value_size)
    for name, content in record.headers:
        size += len(name) + len(content or b"") + HEADER_BYTES
    return size
