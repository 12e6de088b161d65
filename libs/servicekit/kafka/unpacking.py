"""Unpacks compressed batches of records, up to a bound: a few kilobytes may hold gigabytes."""

from __future__ import annotations

import gzip
import io
import struct
import threading
from typing import Any

import cramjam

UNPACKED_LIMIT = 8 * 1024 * 1024
"""Bytes that a batch may unpack to. Clients bound a batch at about one megabyte unless set otherwise."""
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_FULL = "failed to write whole buffer"


class UnpacksTooLarge(Exception):
    """A batch unpacks to more than `UNPACKED_LIMIT`; `packed` are its compressed bytes."""

    def __init__(self, packed: bytes) -> None:
        super().__init__(f"more than {UNPACKED_LIMIT} bytes unpacked")
        self.packed = packed


class _Room(threading.local):
    """A buffer to unpack into: making one for each batch would cost more than the unpacking."""

    def __init__(self) -> None:
        self.buffer = bytearray(UNPACKED_LIMIT)


_room = _Room()


def unpack_gzip(packed: bytes) -> bytes:
    """The bytes of a gzip file. Raises UnpacksTooLarge."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        found = file.read(UNPACKED_LIMIT + 1)
    if len(found) > UNPACKED_LIMIT:
        raise UnpacksTooLarge(bytes(packed))
    return found


def unpack_lz4(packed: bytes) -> bytes:
    """The bytes of an LZ4 frame. Raises UnpacksTooLarge."""
    return _unpacked(cramjam.lz4, packed)


def unpack_zstd(packed: bytes) -> bytes:
    """The bytes of a Zstandard frame. Raises UnpacksTooLarge."""
    return _unpacked(cramjam.zstd, packed)


def unpack_snappy(packed: bytes) -> bytes:
    """The bytes of a Snappy block, or of the blocks that Java clients write. Raises UnpacksTooLarge."""
    packed = bytes(packed)
    blocks = _blocks(packed) if packed.startswith(_XERIAL) else [packed]
    if sum(map(cramjam.snappy.decompress_raw_len, blocks)) > UNPACKED_LIMIT:
        raise UnpacksTooLarge(packed)
    return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)


def _blocks(packed: bytes) -> list[bytes]:
    """The blocks behind the header of a Java client, each of them behind its length."""
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
