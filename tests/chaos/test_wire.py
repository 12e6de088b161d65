"""Responses to writes are recognised however their bytes are split, and a real producer loses one after its write."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from chaos.listeners import KafkaWithListeners
from chaos.logs import records_of
from chaos.proxy import Door
from chaos.wire import FrameHeads, ProduceRecogniser
from contracts.topics import EXPLICIT_RECEIVED
from servicekit.log.messages import Message
from servicekit.log.producer import BatchProducer
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
    heads, found = FrameHeads(4), []
    while stream:
        piece = rng.randint(1, 40)
        found += heads.feed(stream[:piece])
        stream = stream[piece:]
    assert found == [frame[:4] for frame in frames]


def test_only_the_response_to_a_produce_request_confirms_a_write() -> None:
    writes = ProduceRecogniser()
    writes.requested(request(FETCH, 1) + request(PRODUCE, 2, b"records") + request(FETCH, 3))
    assert not writes.confirmed(response(1, b"\x00\x00\x00\x02"))
    begun = response(2, b"offsets")
    assert not writes.confirmed(begun[:6])
    assert writes.confirmed(begun[6:] + response(3))
    assert not writes.confirmed(response(2)), "an id is used once"


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
