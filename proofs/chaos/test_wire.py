"""Responses to writes are recognised however their bytes are split, and a real producer loses one after its write."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from contracts.topics import EXPLICIT_RECEIVED
from proofs.chaos.cluster import KafkaWithListeners
from proofs.chaos.logs import records_of
from proofs.chaos.proxy import Door
from proofs.chaos.wire import CommitRecogniser, FrameHeads, ProduceRecogniser
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message
from servicekit.log.topics import ensure_topics

PRODUCE, FETCH = 0, 1


def request(api: int, correlation: int, body: bytes = b"") -> bytes:
    head = api.to_bytes(2) + (9).to_bytes(2) + correlation.to_bytes(4)
    return (len(head) + len(body)).to_bytes(4) + head + body


def response(correlation: int, body: bytes = b"") -> bytes:
    return (4 + len(body)).to_bytes(4) + correlation.to_bytes(4) + body


@pytest.mark.parametrize("seed", range(20))
def test_beginnings_of_frames_do_not_depend_on_how_the_stream_is_cut(seed: int) -> None:
    rng = random.Random(seed)
    frames = [rng.randbytes(rng.choice((4, 5, 300))) for _ in range(20)]
    stream = b"".join(len(frame).to_bytes(4) + frame for frame in frames)
    heads, beginnings = FrameHeads(4), []
    while stream:
        piece = rng.randint(1, 40)
        beginnings += heads.feed(stream[:piece])
        stream = stream[piece:]
    assert beginnings == [frame[:4] for frame in frames]


def test_only_the_response_to_a_produce_request_confirms_a_write() -> None:
    writes = ProduceRecogniser()
    writes.requested(request(FETCH, 1) + request(PRODUCE, 2, b"records") + request(FETCH, 3))
    assert not writes.confirmed(response(1, b"\x00\x00\x00\x02"))
    begun = response(2, b"offsets")
    assert not writes.confirmed(begun[:6])
    assert writes.confirmed(begun[6:] + response(3))
    assert not writes.confirmed(response(2)), "an id is used once"


def message(kind: bytes, body: bytes) -> bytes:
    return kind + (4 + len(body)).to_bytes(4) + body


SAVING = b"with u as (update feedback set a = 1 returning id) select id from u"


@pytest.mark.parametrize(
    ("text", "tag", "state", "is_write"),
    [
        (SAVING, b"SELECT 2", b"I", True),
        (SAVING, b"SELECT 0", b"I", False),
        (SAVING, b"SELECT 2", b"T", False),
        (b"select updated from feedback", b"SELECT 2", b"I", False),
        (b"insert into feedback values ($1)", b"INSERT 0 1", b"I", True),
        (b"select 1", b"COMMIT", b"I", True),
    ],
)
@pytest.mark.parametrize("piece", [1, 7, 1_000])
def test_a_statement_that_returns_what_it_changed_is_a_write(
    text: bytes, tag: bytes, state: bytes, is_write: bool, piece: int
) -> None:
    start = (8).to_bytes(4) + (196_608).to_bytes(4)
    other = message(b"P", b"other\0delete from journal\0\0\0") + message(b"B", b"\0other\0")
    sent = start + other + message(b"P", b"one\0" + text + b"\0\0\0") + message(b"B", b"\0one\0\0\0")
    writes = CommitRecogniser()
    for first in range(0, len(sent), piece):
        writes.requested(sent[first : first + piece])
    assert writes.confirmed(message(b"C", tag + b"\0") + message(b"Z", state)) is is_write


@pytest.mark.real
async def test_a_write_whose_response_is_cut_is_in_the_log_once(tmp_path: Path) -> None:
    kafka = KafkaWithListeners(tmp_path / "kafka", ["feedback"])
    door = Door(lambda: kafka.port_of("feedback"), ProduceRecogniser)
    await door.start()
    kafka.advertised = {"feedback": door.port}
    lost = 3
    door.withholds = lambda: door.withheld < lost
    producer = BatchProducer(f"127.0.0.1:{door.port}", client_id="agent-feedback-test")
    async with kafka:
        try:
            await ensure_topics(kafka.bootstrap)
            for n in range(5):
                await producer.send([Message(EXPLICIT_RECEIVED.name, "key", str(n).encode())])
            assert door.withheld == lost
            written = [record.value for record in await records_of(kafka.bootstrap, EXPLICIT_RECEIVED.name)]
            assert written == [b"0", b"1", b"2", b"3", b"4"]
        finally:
            await producer.stop()
            await door.stop()
