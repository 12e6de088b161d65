"""Sampling decisions of the traces, which are made before a span exists."""

from __future__ import annotations

from zlib import crc32

import pytest

from contracts.headers import Headers
from servicekit.log.records import Coordinates, RawRecord, cause_of
from servicekit.otlp import OtlpTraces, OtlpTracing, _cause_checksum

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PRODUCER = "00f067aa0ba902b7"


def record(topic: str, headers: Headers) -> RawRecord:
    return RawRecord(Coordinates(topic, 3, 42), b"key", b"{}", headers, 0)


@pytest.mark.parametrize("topic", ["chat.message.ingested", "feedback.reaction.received"])
@pytest.mark.parametrize(
    "headers",
    [
        (),
        [("other", b"x")],
        [("cause", b"chat.message.ingested:1:7")],
        [("cause", b"")],
        [("cause", b""), ("cause", b"chat.message.ingested:1:7")],
        [("cause", b"\xff")],
    ],
)
def test_the_checksum_is_that_of_the_cause(topic: str, headers: Headers) -> None:
    raw = record(topic, headers)
    assert _cause_checksum(raw) == crc32(cause_of(raw).encode())


@pytest.mark.parametrize(
    ("traceparent", "sampled"),
    [
        (f"00-{TRACE}-{PRODUCER}-01", True),
        (f"00-{TRACE}-{PRODUCER}-03", True),
        (f"00-{TRACE}-{PRODUCER}-00", False),
        (f"00-{TRACE}-{PRODUCER}-02", False),
        (f"00-{'f' * 32}-{PRODUCER}-01", False),
        (f"00-{'f' * 16}{'0' * 15}1-{PRODUCER}-01", True),
        (f"00-{'0' * 32}-{PRODUCER}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
    ],
)
async def test_flag_and_low_half_of_the_trace_id_decide(traceparent: str, sampled: bool) -> None:
    traces = OtlpTraces("http://127.0.0.1:9/v1/traces", 0.75)
    tracing = traces.of("feedback")
    assert isinstance(tracing, OtlpTracing)
    context = tracing._sampled(record("feedback.reaction.received", [("traceparent", traceparent.encode())]))
    await traces.close()
    assert (context is not None) is sampled
    if context is not None:
        assert (context.trace_id, context.span_id) == (int(traceparent[3:35], 16), int(PRODUCER, 16))
