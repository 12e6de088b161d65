"""The partitioner agrees with Kafka's own clients."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import murmur2 as another_clients
from hypothesis import given
from hypothesis import strategies as st

from contracts.ids import partition_of
from contracts.murmur2 import murmur2

VECTORS = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}
"""Keys and their hashes as in the unit tests of Apache Kafka (`UtilsTest.testMurmur2`): signed 32-bit integers."""


@pytest.mark.parametrize(("key", "signed"), VECTORS.items())
def test_a_key_goes_to_the_partition_that_kafkas_java_client_would_choose(key: str, signed: int) -> None:
    assert murmur2(key.encode()) == signed & 0xFFFFFFFF
    for partitions in (1, 3, 6, 50):
        assert partition_of(key, partitions) == (signed & 0x7FFFFFFF) % partitions


def test_a_key_is_hashed_as_utf_8() -> None:
    assert (
        partition_of("acme/support/grüße", 1_000_003)
        == (murmur2("acme/support/grüße".encode()) & 0x7FFFFFFF) % 1_000_003
    )
    assert partition_of("acme/support/grüße", 1_000_003) != partition_of("acme/support/grusse", 1_000_003)


@given(st.binary(max_size=70))
def test_any_bytes_are_hashed_as_another_client_hashes_them(key: bytes) -> None:
    assert murmur2(key) == another_clients(key) & 0xFFFFFFFF
