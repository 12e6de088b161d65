"""A consumer decompresses and returns a limited number of bytes at a time, for every compression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import aiokafka.codec as codec
import aiokafka.consumer.fetcher as fetcher
import aiokafka.record._crecords.default_records as compiled_records
import aiokafka.record.default_records as default_records
import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import given
from hypothesis import strategies as st

from servicekit.log import fetch_limits
from servicekit.log.delivery import Delivery
from servicekit.log.fetch import raw_record
from servicekit.log.fetch_limits import (
    HEADER_BYTES,
    POLL_BYTES,
    BoundedRecords,
    BoundedResult,
    FetchFailure,
    UnpacksTooLarge,
    bound_fetching,
)
from servicekit.log.records import UNPACKED_LIMIT, RefusedBatch
from tests.support.hand_clock import FixedClock
from tests.support.logs import NOW, RecordingLog
from tests.support.unit_handlers import NoWork

LANE = TopicPartition("chat.message.ingested", 0)
CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": codec.gzip_encode,
    "snappy": codec.snappy_encode,
    "snappy block": lambda content: bytes(codec.snappy_encode(content, xerial_compatible=False)),
    "lz4": codec.lz4_encode,
    "zstd": codec.zstd_encode,
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": fetch_limits.unpack_gzip,
    "snappy": fetch_limits.unpack_snappy,
    "snappy block": fetch_limits.unpack_snappy,
    "lz4": fetch_limits.unpack_lz4,
    "zstd": fetch_limits.unpack_zstd,
}


async def only_letter(stand_in: Any) -> tuple[Any, dict[str, str]]:
    """Return the one dead letter that delivery writes for a rejected batch, and its headers as text."""
    log = RecordingLog()
    delivery = Delivery("chat_bridge", NoWork(), log, clock=FixedClock(NOW))

    async def commit(_: Any) -> bool:
        return True

    await delivery.deliver([raw_record(stand_in, NOW)], commit)
    (letter,) = log.messages
    return letter, {name: content.decode() for name, content in letter.headers}


def batch(
    first: int, sizes: list[int], codec: int = 0, *, key: bytes = b"k", headers: Sequence[tuple[str, bytes]] = ()
) -> bytes:
    """Return a batch of blank values as stored in the log from offset `first` on."""
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 40)
    for offset, size in enumerate(sizes):
        assert builder.append(offset, timestamp=0, key=key, value=b" " * size, headers=list(headers)) is not None
    built = bytes(builder.build())
    return first.to_bytes(8, "big") + built[8:]


def records(data: bytes, fetch_offset: int = 0) -> BoundedRecords:
    return BoundedRecords(LANE, MemoryRecords(data), [], fetch_offset, None, None, True, fetcher.READ_UNCOMMITTED)


@pytest.fixture(autouse=True)
def _bounded() -> None:
    bound_fetching()


@pytest.mark.parametrize("name", PACK)
@given(content=st.binary(max_size=4_000), repeats=st.integers(1, 40))
def test_what_is_packed_comes_out_the_same(name: str, content: bytes, repeats: int) -> None:
    assert UNPACK[name](PACK[name](content * repeats)) == content * repeats


@pytest.mark.parametrize("name", PACK)
def test_the_bound_is_exact(name: str) -> None:
    assert len(UNPACK[name](PACK[name](b" " * UNPACKED_LIMIT))) == UNPACKED_LIMIT
    packed = PACK[name](b" " * (UNPACKED_LIMIT + 1))
    with pytest.raises(UnpacksTooLarge) as refused:
        UNPACK[name](packed)
    assert refused.value.packed == packed


@pytest.mark.parametrize("name", CODECS)
def test_a_batch_over_the_bound_becomes_one_record_and_its_neighbours_come_through(name: str) -> None:
    bomb = batch(2, [1_000_000] * 12, CODECS[name])
    found = list(records(batch(0, [1, 1]) + bomb + batch(14, [1], CODECS[name])))
    assert [record.offset for record in found] == [0, 1, 13, 14]
    packed = bomb[61:]
    assert found[2].value == RefusedBatch(2, 13, len(packed), sha256(packed).hexdigest())


def test_a_batch_refused_is_passed_even_if_read_from_its_middle() -> None:
    reader = records(batch(0, [1_000_000] * 12, CODECS["zstd"]) + batch(12, [1]), fetch_offset=5)
    assert [record.offset for record in reader] == [11, 12]
    assert reader.next_fetch_offset == 13


def sent(written: bytes) -> bytes:
    """Return a batch with the length and checksum of its bytes, as its sender writes them."""
    body = written[21:]
    length, checksum = (len(written) - 12).to_bytes(4, "big"), calc_crc32c(body).to_bytes(4, "big")
    head: bytes = written[:8] + length + written[12:17] + checksum
    return head + body


NO_UTF8 = sent(batch(2, [1, 1, 1], headers=[("name", b"")]).replace(b"name", b"\xff" * 4))
UNREADABLE = {
    "a header's name": NO_UTF8,
    **{f"more than {name}": sent(batch(2, [1, 1, 1], codec) + b"more") for name, codec in CODECS.items()},
    **{f"less than {name}": sent(batch(2, [1, 1, 1], codec)[:-2]) for name, codec in CODECS.items()},
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
def test_a_batch_that_cannot_be_read_becomes_one_record_and_its_neighbours_come_through(data: bytes) -> None:
    found = list(records(batch(0, [1, 1]) + data + batch(5, [1])))
    assert [record.offset for record in found] == [0, 1, 4, 5]
    assert found[2].value == RefusedBatch(2, 4, 0, "", "batch_unreadable")


def test_what_could_be_read_of_a_batch_is_handed_out() -> None:
    good = batch(2, [1, 1, 1], headers=[("name", b"")])
    third = good.rindex(b"name")
    found = list(records(sent(good[:third] + b"\xff" * 4 + good[third + 4 :])))
    assert [record.offset for record in found] == [2, 3, 4]
    assert found[2].value == RefusedBatch(4, 4, 0, "", "batch_unreadable")


def test_bytes_behind_the_last_record_cost_none() -> None:
    found = list(records(sent(batch(0, [1, 1]) + b"more") + batch(2, [1])))
    assert [(record.offset, record.value) for record in found] == [(0, b" "), (1, b" "), (2, b" ")]


async def test_what_is_unreadable_has_one_letter_with_its_offsets() -> None:
    (stand_in,) = records(NO_UTF8, fetch_offset=2)
    _, headers = await only_letter(stand_in)
    assert (headers["reason"], headers["offset"], headers["first-offset"]) == ("batch_unreadable", "4", "2")
    assert headers["detail"] == "offsets 2 to 4 are not as Kafka's clients write them"
    assert "sha256" not in headers


def test_a_batch_that_was_damaged_on_its_way_is_not_passed() -> None:
    reader = records(batch(0, [1]) + NO_UTF8[:-1] + b"?" + batch(5, [1]))
    assert next(reader).offset == 0
    with pytest.raises(CorruptRecordException):
        next(reader)
    assert reader.next_fetch_offset == 1


def test_a_damaged_batch_is_a_failure_after_what_could_be_read() -> None:
    fetched = result(batch(0, [1]) + NO_UTF8[:-1] + b"?")
    first, failure = fetched.getall(1_000)
    assert first.offset == 0
    assert isinstance(failure.value, FetchFailure) and isinstance(failure.value.error, CorruptRecordException)
    assert (fetched.has_more(), fetched._assignment.position) == (False, 1), "fetched again from the damaged batch"


def test_records_of_a_revoked_partition_are_not_handed_out() -> None:
    taken = result(batch(0, [1, 1]))
    taken._assignment.active = False
    assert taken.getall() == []


class Assignment:
    active = True
    paused = False
    position = 0
    timestamp = 1_000

    def state_value(self, _: Any) -> Any:
        return self

    def consumed_to(self, offset: int) -> None:
        self.position = offset


def result(data: bytes, lane: TopicPartition = LANE) -> BoundedResult:
    return BoundedResult(lane, assignment=Assignment(), partition_records=records(data), backoff=0)


QUARTER = POLL_BYTES // 4


@pytest.mark.parametrize(
    "data",
    [
        batch(0, [QUARTER] * 9),
        batch(0, [0] * 9, key=b" " * QUARTER),
        batch(0, [0] * 9, headers=[("blanks", b" " * QUARTER)]),
        batch(0, [0] * 9, headers=[(" " * QUARTER, b"")]),
        batch(0, [0] * 9, key=b"", headers=[("", b"")] * (QUARTER // HEADER_BYTES + 1)),
    ],
    ids=["values", "keys", "headers", "names of headers", "empty headers"],
)
def test_what_is_handed_out_at_once_is_bounded_by_bytes(data: bytes) -> None:
    found, taken = result(data), []
    while found.has_more():
        taken.append(len(found.getall(1_000)))
    assert taken == [4, 4, 1]


async def test_a_refused_batch_has_one_letter_with_its_hash_and_offsets() -> None:
    (stand_in,) = records(batch(100, [1_000_000] * 12, CODECS["lz4"]), fetch_offset=100)
    letter, headers = await only_letter(stand_in)
    assert letter.value is None
    assert (headers["reason"], headers["offset"], headers["first-offset"]) == ("batch_too_large", "111", "100")
    assert headers["detail"] == "offsets 100 to 111 would unpack to more than 8 MiB"
    assert headers["sha256"] == stand_in.value.sha256


def test_the_names_that_are_replaced_are_those_that_aiokafka_uses() -> None:
    for name in ("gzip_decode", "lz4_decode", "snappy_decode", "zstd_decode"):
        assert hasattr(codec, name)
        assert getattr(default_records, name) is getattr(compiled_records, name)
    assert fetcher.PartitionRecords is BoundedRecords
    assert fetcher.FetchResult is BoundedResult
