"""Decompression of record batches up to a size limit, because a few kilobytes may expand to gigabytes."""

from __future__ import annotations

import gzip
import io
import mmap
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

import cramjam

UNPACKED_LIMIT = 8 * 1024 * 1024
"""Maximum size of a decompressed batch, in bytes. By default, clients limit a batch to about one megabyte."""
HEADERS_LIMIT = 10_000
"""Maximum number of headers per record in a compressed batch. An empty header has two bytes in the log and seventy
in memory."""
# Except on Windows, forked processes would share the memory without these flags.
_PRIVATE: dict[str, int] = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_FULL = "failed to write whole buffer"


class UnpacksTooLarge(Exception):
    """Raised if a batch decompresses to more than `UNPACKED_LIMIT`, or if a record has too many headers.

    `packed` contains the compressed bytes.
    """

    def __init__(self, packed: bytes) -> None:
        super().__init__(f"more than {UNPACKED_LIMIT} bytes unpacked, or {HEADERS_LIMIT} headers in a record")
        self.packed = packed


class _Room(threading.local):
    """Reusable decompression buffer for each thread.

    Allocating a buffer for each batch would take longer than decompressing the batch. The buffer is a memory mapping of
    its own, so the operating system allocates only the pages that are used.
    """

    def __init__(self) -> None:
        self.buffer = mmap.mmap(-1, UNPACKED_LIMIT, **_PRIVATE)


_room = _Room()


def unpack_gzip(packed: bytes) -> bytes:
    """Decompress gzip data. Raises UnpacksTooLarge."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        found = file.read(UNPACKED_LIMIT + 1)
    if len(found) > UNPACKED_LIMIT:
        raise UnpacksTooLarge(bytes(packed))
    return found


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
    found, at = [], _XERIAL_HEADER
    while at < len(packed):
        (size,) = struct.unpack_from("!i", packed, at)
        if size < 0:
            raise ValueError("a block of negative length")
        found.append(packed[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def _unpacked(codec: Any, packed: bytes) -> bytes:
    room = _room.buffer
    try:
        size = codec.decompress_into(packed, room)
    except cramjam.DecompressionError as error:
        if _FULL in str(error):
            raise UnpacksTooLarge(bytes(packed)) from None
        raise
    return bytes(memoryview(room)[:size])


def with_few_headers(unpack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Wrap a decompression function to limit the number of headers.

    The wrapper raises UnpacksTooLarge if a record has more than HEADERS_LIMIT headers.
    """

    def unpack_records(packed: bytes) -> bytes:
        records = unpack(packed)
        if _has_many_headers(records):
            raise UnpacksTooLarge(bytes(packed))
        return records

    return unpack_records


def _has_many_headers(records: bytes) -> bool:
    """Return True if a record has more than HEADERS_LIMIT headers.

    The result is False if the records are malformed. Only records that are large enough to exceed the limit are
    checked.
    """
    at = 0
    try:
        while at + 2 * HEADERS_LIMIT < len(records):
            size, at = _varint(records, at)
            if size <= 0:
                return False
            if size > 2 * HEADERS_LIMIT and _headers_at(records, at) > HEADERS_LIMIT:
                return True
            at += size
    except (IndexError, ValueError):
        pass
    return False


def _headers_at(records: bytes, at: int) -> int:
    """Return the number of headers of the record whose first byte, the attributes, is at the position `at`."""
    _, at = _varint(records, at + 1)  # the record's time
    _, at = _varint(records, at)  # and its offset
    for _ in ("key", "value"):
        size, at = _varint(records, at)
        at += max(0, size)
    return _varint(records, at)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read the variable-length integer (varint) at the position `at`.

    Returns:
        The value, and the position after it.

    Raises:
        IndexError: If the data ends too early.
        ValueError: If the number has more than 64 bits.
    """
    value = 0
    for shift in range(0, 64, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise ValueError("a number of more than 64 bits")
