"""Limits on the memory of a fetch, and placeholders for batches that cannot be read.

A few kilobytes may decompress to gigabytes, and the broker accepts batches that aiokafka cannot read, for example
because a header name is not UTF-8. Such a batch would exhaust the memory, or block the consumer at its offset, so it
becomes a single record, a placeholder. aiokafka has no option for this (https://github.com/aio-libs/aiokafka/issues/321;
franz-go has one since twmb/franz-go#1461, and brokers since apache/kafka#23429, but only per record), so names of its
modules are replaced. A test fails if they no longer exist.
"""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import aiokafka.consumer.fetcher as fetcher
import aiokafka.record._crecords.default_records as compiled_records
import aiokafka.record.default_records as default_records
import cramjam
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.structs import ConsumerRecord

from servicekit.log.records import UNPACKED_LIMIT, RefusedBatch

POLL_BYTES = 1024 * 1024
"""Maximum size of the records that a poll returns from one partition, in bytes; the last record may exceed it."""
HEADER_BYTES = 100
"""Estimated memory of a header in bytes, without its name and content. In the log, an empty header takes two bytes."""
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_FULL = "failed to write whole buffer"


class FetchFailure(NamedTuple):
    """Value of a placeholder record (offset -1) for records that must be fetched again, with the error."""

    error: Exception


class UnpacksTooLarge(Exception):
    """Raised if a batch decompresses to more than `UNPACKED_LIMIT`. `packed` contains the compressed bytes."""

    def __init__(self, packed: bytes) -> None:
        super().__init__(f"more than {UNPACKED_LIMIT} bytes unpacked")
        self.packed = packed


def bound_fetching() -> None:
    """Apply the limits to every consumer in this process. Calling this function again has no effect."""
    decoders = {
        "gzip_decode": unpack_gzip,
        "lz4_decode": unpack_lz4,
        "snappy_decode": unpack_snappy,
        "zstd_decode": unpack_zstd,
    }
    for module in (default_records, compiled_records):
        for name, decode in decoders.items():
            setattr(module, name, decode)
    fetcher.PartitionRecords = BoundedRecords
    fetcher.FetchResult = BoundedResult


def unpack_gzip(packed: bytes) -> bytes:
    """Decompress gzip data. Raises UnpacksTooLarge."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        unpacked = file.read(UNPACKED_LIMIT + 1)
    if len(unpacked) > UNPACKED_LIMIT:
        raise UnpacksTooLarge(bytes(packed))
    return unpacked


def unpack_lz4(packed: bytes) -> bytes:
    """Decompress an LZ4 frame. Raises UnpacksTooLarge."""
    return _unpacked(cramjam.lz4, packed)


def unpack_zstd(packed: bytes) -> bytes:
    """Decompress a Zstandard frame. Raises UnpacksTooLarge."""
    return _unpacked(cramjam.zstd, packed)


def unpack_snappy(packed: bytes) -> bytes:
    """Decompress a Snappy block, or the block sequence written by Java clients. Raises UnpacksTooLarge."""
    packed = bytes(packed)
    blocks = _blocks(packed) if packed.startswith(_XERIAL) else [packed]
    if sum(map(cramjam.snappy.decompress_raw_len, blocks)) > UNPACKED_LIMIT:
        raise UnpacksTooLarge(packed)
    return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)


def _blocks(packed: bytes) -> list[bytes]:
    """Split the data of a Java client into Snappy blocks.

    The data begins with a common header, and each block is preceded by its length.
    """
    blocks, start = [], _XERIAL_HEADER
    while start < len(packed):
        (size,) = struct.unpack_from("!i", packed, start)
        if size < 0:
            raise ValueError("a block of negative length")
        blocks.append(packed[start + 4 : start + 4 + size])
        start += 4 + size
    return blocks


def _unpacked(codec: Any, packed: bytes) -> bytes:
    """Decompress into a buffer that doubles up to the limit, because most batches are much smaller."""
    size = min(UNPACKED_LIMIT, 4 * len(packed) + 4_096)
    while True:
        buffer = bytearray(size)
        try:
            return bytes(memoryview(buffer)[: codec.decompress_into(packed, buffer)])
        except cramjam.DecompressionError as error:
            if _FULL not in str(error):
                raise
        if size == UNPACKED_LIMIT:
            raise UnpacksTooLarge(bytes(packed))
        size = min(UNPACKED_LIMIT, 4 * size)


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

    def _unpack_records(self) -> Iterator[ConsumerRecord]:
        self._records = batches = _Batches(self._records, self._check_crcs)
        self._check_crcs = False
        while True:
            try:
                yield from super()._unpack_records()
            except UnpacksTooLarge as error:
                digest = sha256(error.packed).hexdigest()
                yield self._placeholder(batches.last, "batch_too_large", len(error.packed), digest)
            except (MemoryError, UnsupportedCodecError):
                raise
            except Exception:
                if batches.last is None:
                    raise
                if self.next_fetch_offset < batches.last.next_offset:
                    yield self._placeholder(batches.last, "batch_unreadable")
            else:
                return

    def _placeholder(self, batch: Any, reason: str, packed: int = 0, digest: str = "") -> ConsumerRecord:
        """Return a placeholder record for `batch`.

        The placeholder has the batch's last offset, so committing it skips the whole batch.
        """
        last = batch.next_offset - 1
        refused = RefusedBatch(max(batch.base_offset, self.next_fetch_offset), last, packed, digest, reason)
        self.next_fetch_offset = batch.next_offset
        position = (self._tp.topic, self._tp.partition, last, batch.max_timestamp, batch.timestamp_type)
        return ConsumerRecord(*position, None, refused, None, -1, 0, ())


class BoundedResult(fetcher.FetchResult):  # type: ignore[misc]
    """Fetched records of a partition, returned in chunks of about `POLL_BYTES`.

    If the records cannot be read any further, the last record returned is a `FetchFailure`, and they are fetched again.
    An exception would lose the records already taken from other partitions, whose positions have advanced.
    """

    _partition_records: Any

    def getall(self, max_records: int | None = None) -> list[ConsumerRecord]:
        """Remove and return the next records, at most `max_records`."""
        if not self.has_more() or not self.check_assignment(self._topic_partition):
            return []
        records: list[ConsumerRecord] = []
        size = 0
        try:
            for record in self._partition_records:
                records.append(record)
                size += _size(record)
                if size >= POLL_BYTES or len(records) == max_records:
                    self._update_position()
                    return records
        except Exception as error:
            topic, partition = self._topic_partition
            records.append(ConsumerRecord(topic, partition, -1, 0, 0, None, FetchFailure(error), None, -1, 0, ()))
        self._update_position()
        self._partition_records = None
        return records


def _size(record: ConsumerRecord) -> int:
    """Return the size of a record in bytes, including its key and headers, which may be as large as the value."""
    size: int = max(0, record.serialized_key_size) + max(0, record.serialized_value_size)
    for name, content in record.headers:
        size += len(name) + len(content or b"") + HEADER_BYTES
    return size
