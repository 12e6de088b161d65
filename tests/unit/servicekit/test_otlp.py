"""Sampling decisions of the traces, which are made before a span exists."""

from __future__ import annotations

import pytest

from contracts.headers import trace_of
from servicekit.log.records import Coordinates, RawRecord
from servicekit.log.slots import Slot
from servicekit.otlp import Traces
from servicekit.stages import StageTimes

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PRODUCER = "00f067aa0ba902b7"


def slot(traceparent: str | None) -> Slot:
    headers = [] if traceparent is None else [("traceparent", traceparent.encode())]
    return Slot(RawRecord(Coordinates("feedback.reaction.received", 3, 42), b"key", b"{}", headers, 0))


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
    traces = Traces("http://127.0.0.1:9/v1/traces", 0.75)
    batch = traces.of("feedback").begin("feedback", [slot(traceparent)])
    assert (batch is not None) is sampled
    if batch is not None:
        assert batch.trace_id == traceparent[3:35]
        batch.ended([], StageTimes())
    await traces.close()


async def test_a_record_without_a_trace_gets_that_of_its_batch_and_others_keep_theirs() -> None:
    traces = Traces("http://127.0.0.1:9/v1/traces", 1.0)
    foreign = f"00-{'e' * 32}-{PRODUCER}-01"
    slots = [slot(f"00-{TRACE}-{PRODUCER}-01"), slot(None), slot(foreign)]
    batch = traces.of("feedback").begin("feedback", slots)
    assert batch is not None and batch.trace_id == TRACE
    first, second, third = [trace_of(one.raw.headers) for one in slots]
    assert (first, third) == (f"00-{TRACE}-{PRODUCER}-01", foreign)
    assert second is not None and second[3:35] == TRACE and second[36:52] != PRODUCER
    batch.ended(slots, StageTimes())
    await traces.close()
