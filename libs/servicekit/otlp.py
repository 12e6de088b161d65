"""Tracing with OpenTelemetry's SDK; spans are exported by OTLP over HTTP.

A record's span is a child of the span in the record's `traceparent`. Without that header, the trace id is derived from
the record's cause, so that all services sample the same records and a redelivery continues the same trace. A batch's
span is the root of a separate trace, with one child per stage and links to the spans of the sampled records. Spans
contain neither text nor ids of people.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final
from zlib import crc32

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    format_span_id,
    format_trace_id,
    set_span_in_context,
)

from contracts.headers import CAUSE, TRACEPARENT, trace_of, well_formed_trace
from contracts.topics import FOREIGN, Consumer
from servicekit.log.outcome import Outcome
from servicekit.log.records import RawRecord, cause_of
from servicekit.log.tracing import BatchTrace, RequestTrace, Tracing
from servicekit.stages import StageTimes

EXPORT_SECONDS: Final = 3.0
"""Timeout of an export request to the collector, and of the final export at shutdown, in seconds."""
_IDS: Final = 1 << 64
_SYSTEM: Final = {"messaging.system": "kafka"}
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class _Ids(RandomIdGenerator):
    """Id generator. `next_trace` is the id of the next trace; None means a random id."""

    next_trace: int | None = None

    def generate_trace_id(self) -> int:
        chosen, self.next_trace = self.next_trace, None
        return super().generate_trace_id() if chosen is None else chosen


class OtlpTraces:
    """Traces of a process: one exporter, and one provider per service, which adds the service's name to spans."""

    def __init__(self, url: str, share: float) -> None:
        self._share = share
        self._processor = BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=EXPORT_SECONDS))

    def of(self, service: str) -> Tracing:
        ids = _Ids()
        resource = Resource.create({"service.name": service, "service.namespace": "agent-feedback"} | _SYSTEM)
        provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(self._processor)
        return OtlpTracing(provider.get_tracer("agent-feedback"), ids, self._share)

    async def flush(self) -> None:
        """Export the spans that have ended."""
        await asyncio.to_thread(self._processor.force_flush)

    async def close(self) -> None:
        await asyncio.to_thread(self._processor.shutdown)


class OtlpTracing:
    """Spans of one service."""

    def __init__(self, tracer: Tracer, ids: _Ids, share: float) -> None:
        self._tracer = tracer
        self._ids = ids
        self._bound = round(share * _IDS)
        self._bound_of_hash = self._bound >> 32

    def begin(self, group: Consumer, records: Sequence[RawRecord]) -> BatchTrace | None:
        contexts = {at: context for at, raw in enumerate(records) if (context := self._sampled(raw)) is not None}
        if not contexts:
            return None
        start = time.time_ns()
        spans = {at: self._record_span(group, records[at], context, start) for at, context in contexts.items()}
        batch = self._tracer.start_span(
            f"{group} batch",
            attributes={
                "messaging.consumer.group.name": group,
                "messaging.batch.message_count": len(records),
            },
            links=[Link(span.get_span_context()) for span in spans.values()],
            start_time=start,
        )
        return _OtlpBatch(self._tracer, group, batch, spans, start)

    def request(self, name: str, traceparent: str | None, attributes: Mapping[str, str | int]) -> RequestTrace | None:
        parent = None if traceparent is None else self._parent(traceparent)
        if parent is None:
            return None
        around = set_span_in_context(NonRecordingSpan(parent))
        return _OtlpRequest(self._tracer.start_span(name, around, SpanKind.CLIENT, attributes))

    def _record_span(self, group: Consumer, raw: RawRecord, context: SpanContext, start: int) -> Span:
        at = raw.coordinates
        around = None
        if context.span_id:
            around = set_span_in_context(NonRecordingSpan(context))
        else:
            self._ids.next_trace = context.trace_id
        return self._tracer.start_span(
            f"{group} {at.topic}",
            around,
            SpanKind.CONSUMER,
            {"messaging.destination.partition.id": str(at.partition), "messaging.kafka.offset": at.offset},
            start_time=start,
        )

    def _sampled(self, raw: RawRecord) -> SpanContext | None:
        """Return the parent context of a sampled record, with span id 0 if the record begins a trace.

        Return None for an unsampled record. A trace that the producer did not sample stays unsampled. For a record
        without a trace context, a checksum of its cause is compared with the sampling rate. The checksum is part of the
        record's trace id.
        """
        if raw.headers and (traceparent := trace_of(raw.headers)) is not None:
            return self._parent(traceparent)
        checksum = _cause_checksum(raw)
        if checksum >= self._bound_of_hash:
            return None
        digest = int.from_bytes(blake2b(cause_of(raw).encode(), digest_size=12).digest())
        return SpanContext((digest >> 32) << 64 | checksum << 32 | digest % (1 << 32), 0, is_remote=True)

    def _parent(self, traceparent: str) -> SpanContext | None:
        """Return the context in `traceparent` if it is valid and sampled. Most are not: they cost two comparisons."""
        if well_formed_trace(traceparent) is None or not int(traceparent[-2:], 16) & TraceFlags.SAMPLED:
            return None
        if int(traceparent[19:35], 16) >= self._bound:  # the low 64 bits of the trace id
            return None
        _, trace_id, span_id, _ = traceparent.split("-")
        context = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=_SAMPLED)
        return context if context.is_valid else None


class _OtlpBatch:
    """Open spans of a batch and, by record index, of its sampled records. `start` is in nanoseconds since the epoch."""

    def __init__(self, tracer: Tracer, group: Consumer, batch: Span, spans: Mapping[int, Span], start: int) -> None:
        self._tracer = tracer
        self._group = group
        self._batch = batch
        self._spans = spans
        self._start = start
        self._started = time.perf_counter()

    def carried_on(self, records: Sequence[RawRecord]) -> Sequence[RawRecord]:
        carried = [*records]
        for at, span in self._spans.items():
            context = (TRACEPARENT, _traceparent(span).encode())
            others = [one for one in records[at].headers if one[0] != TRACEPARENT]
            carried[at] = records[at]._replace(headers=[*others, context])
        return carried

    def traces(self, count: int) -> Iterator[tuple[int, str]]:
        for at, span in self._spans.items():
            if at < count:
                yield at, format_trace_id(span.get_span_context().trace_id)

    def ended(self, outcomes: Sequence[Outcome], times: StageTimes) -> None:
        end = time.time_ns()
        for at, span in self._spans.items():
            if at < len(outcomes):
                outcome = outcomes[at]
                span.set_attribute("agent_feedback.outcome", outcome.kind)
                if reason := outcome.reason:
                    span.set_attribute("agent_feedback.reason", reason)
                if outcome.kind == "dead_lettered":
                    span.set_status(StatusCode.ERROR)
            span.end(end)
        self._end_batch(times, end)

    def failed(self, error: str, times: StageTimes) -> None:
        end = time.time_ns()
        for span in (*self._spans.values(), self._batch):
            span.set_attribute("error.type", error)
            span.set_status(StatusCode.ERROR)
        for span in self._spans.values():
            span.end(end)
        self._end_batch(times, end)

    def _end_batch(self, times: StageTimes, end: int) -> None:
        around = set_span_in_context(self._batch)
        for name, one in times.spans.items():
            span = self._tracer.start_span(
                f"{self._group} {name}",
                around,
                attributes={"agent_feedback.busy_seconds": one.seconds},
                start_time=self._at(one.start),
            )
            span.end(self._at(one.end))
        self._batch.end(end)

    def _at(self, moment: float) -> int:
        """Convert a `perf_counter` time to nanoseconds since the epoch."""
        return self._start + round((moment - self._started) * 1e9)


class _OtlpRequest:
    """Open span of an outgoing request."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str:
        return _traceparent(self._span)

    def ended(self, error: str | None) -> None:
        if error is not None:
            self._span.set_attribute("error.type", error)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


def _traceparent(span: Span) -> str:
    context = span.get_span_context()
    return f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-01"


def _cause_checksum(raw: RawRecord) -> int:
    """Return the checksum of `cause_of(raw)`, in the usual cases without the text."""
    topic, partition, offset = raw.coordinates
    if raw.headers and topic not in FOREIGN:
        for name, value in raw.headers:
            if name == CAUSE and value is not None:
                return crc32(value) if value and value.isascii() else crc32(cause_of(raw).encode())
    return crc32(b"%d" % offset, _lane_checksum(topic, partition))


@lru_cache(maxsize=4096)
def _lane_checksum(topic: str, partition: int) -> int:
    """Return the checksum of the prefix `topic:partition:`, which all causes in a partition share."""
    return crc32(f"{topic}:{partition}:".encode())
