"""MurmurHash2 (32 bits, Kafka's seed), with which Kafka's Java client assigns keys to partitions."""

from __future__ import annotations

from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of `data`, an integer from 0 to 2**32 - 1."""
    blocks_end = len(data) & ~3
    hashed = _SEED ^ len(data)
    for start in range(0, blocks_end, 4):
        block = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        block = (block ^ block >> 24) * _MULTIPLIER & _MASK
        hashed = hashed * _MULTIPLIER & _MASK ^ block
    if len(data) != blocks_end:
        hashed = (hashed ^ int.from_bytes(data[blocks_end:], "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 15
