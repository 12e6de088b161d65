"""OpenTelemetry tracing with export by OTLP over HTTP.

The span of a record is a child of the span in the record's `traceparent` header. Without this header, the trace id is
computed from the log position of the chat record that led to this record (`cause_of`). All services therefore sample
the same records, and a redelivered record stays in the same trace.

The span of a batch is the root of a separate trace. It has one child per stage, and links to the spans of the sampled
records. Spans contain neither user text nor ids of people.

A span is built only when it ends. The SDK's tracer is not used, because it costs several times as much (decision 153).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from random import getrandbits
from typing import Final
from zlib import crc32

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Attributes, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    format_span_id,
    format_trace_id,
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
_SCOPE: Final = InstrumentationScope("agent-feedback")
_OK: Final = Status(StatusCode.UNSET)
_ERROR: Final = Status(StatusCode.ERROR)
AttributeValue = str | int | float


class OtlpTraces:
    """Tracing of a process. All services share one exporter, and the spans of each carry the service's name."""

    def __init__(self, url: str, share: float) -> None:
        self._share = share
        self._processor = BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=EXPORT_SECONDS))

    def of(self, service: str) -> Tracing:
        made = Resource.create({"service.name": service, "service.namespace": "agent-feedback"} | _SYSTEM)
        resource = _ServiceResource(made.attributes, made.schema_url)
        return OtlpTracing(_Spans(self._processor, resource), self._share)

    async def flush(self) -> None:
        """Export all ended spans."""
        await asyncio.to_thread(self._processor.force_flush)

    async def close(self) -> None:
        await asyncio.to_thread(self._processor.shutdown)


class _ServiceResource(Resource):
    """OpenTelemetry resource with a cached hash.

    The exporter hashes the resource of every span, and the SDK's own hash converts the resource to JSON each time.
    """

    def __init__(self, attributes: Attributes, schema_url: str) -> None:
        super().__init__(attributes, schema_url)
        self._hash = super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)


@dataclass(slots=True)
class _OpenSpan:
    """Span that has not ended. `start` is in nanoseconds since the epoch."""

    name: str
    kind: SpanKind
    context: SpanContext
    parent: SpanContext | None
    attributes: dict[str, AttributeValue]
    start: int
    links: Sequence[Link] = ()
    failed: bool = False

    @property
    def traceparent(self) -> str:
        return f"00-{format_trace_id(self.context.trace_id)}-{format_span_id(self.context.span_id)}-01"


class _Spans:
    """Factory for the spans of a service, which passes ended spans to the exporter."""

    def __init__(self, processor: BatchSpanProcessor, resource: Resource) -> None:
        self._processor = processor
        self._resource = resource

    def begin(
        self,
        name: str,
        start: int,
        attributes: Mapping[str, AttributeValue],
        *,
        parent: SpanContext | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        links: Sequence[Link] = (),
    ) -> _OpenSpan:
        """Start a span in the trace of `parent`, or in a new trace if there is no parent.

        A parent with the span id 0 only determines the trace.
        """
        trace_id = getrandbits(128) if parent is None else parent.trace_id
        context = SpanContext(trace_id, getrandbits(64) or 1, is_remote=False, trace_flags=_SAMPLED)
        above = parent if parent is not None and parent.span_id else None
        return _OpenSpan(name, kind, context, above, {**attributes}, start, links)

    def end(self, span: _OpenSpan, end: int) -> None:
        """Pass an ended span to the exporter. `end` is in nanoseconds since the epoch."""
        self._processor.on_end(
            ReadableSpan(
                span.name,
                span.context,
                span.parent,
                self._resource,
                span.attributes,
                links=span.links,
                kind=span.kind,
                status=_ERROR if span.failed else _OK,
                start_time=span.start,
                end_time=end,
                instrumentation_scope=_SCOPE,
            )
        )


class OtlpTracing:
    """Tracer of a service, which decides which traces are sampled and starts spans."""

    def __init__(self, spans: _Spans, share: float) -> None:
        self._spans = spans
        self._bound = round(share * _IDS)
        self._bound_of_hash = self._bound >> 32

    def begin(self, group: Consumer, records: Sequence[RawRecord]) -> BatchTrace | None:
        contexts = {}
        for at, raw in enumerate(records):
            if not raw.headers:  # inlined: a call would double the cost
                topic, partition, offset = raw.coordinates
                if crc32(b"%d" % offset, _lane_checksum(topic, partition)) >= self._bound_of_hash:
                    continue
            if (context := self._sampled(raw)) is not None:
                contexts[at] = context
        if not contexts:
            return None
        start = time.time_ns()
        spans = {at: self._record_span(group, records[at], context, start) for at, context in contexts.items()}
        batch = self._spans.begin(
            f"{group} batch",
            start,
            {"messaging.consumer.group.name": group, "messaging.batch.message_count": len(records)},
            links=[Link(span.context) for span in spans.values()],
        )
        return _OtlpBatch(self._spans, group, batch, spans)

    def request(self, name: str, traceparent: str | None, attributes: Mapping[str, str | int]) -> RequestTrace | None:
        parent = None if traceparent is None else self._parent(traceparent)
        if parent is None:
            return None
        span = self._spans.begin(name, time.time_ns(), attributes, parent=parent, kind=SpanKind.CLIENT)
        return _OtlpRequest(self._spans, span)

    def _record_span(self, group: Consumer, raw: RawRecord, context: SpanContext, start: int) -> _OpenSpan:
        at = raw.coordinates
        attributes: dict[str, AttributeValue] = {
            "messaging.destination.partition.id": str(at.partition),
            "messaging.kafka.offset": at.offset,
        }
        return self._spans.begin(f"{group} {at.topic}", start, attributes, parent=context, kind=SpanKind.CONSUMER)

    def _sampled(self, raw: RawRecord) -> SpanContext | None:
        """Return the parent context for the record's span, or None if the record is not sampled.

        If the record has a trace context, that context is the parent, provided that it is sampled. Otherwise, a
        checksum of the record's cause decides: the record is sampled if the checksum is within the sampling rate. The
        parent context then has a trace id that contains the checksum, and the span id 0.
        """
        if raw.headers and (traceparent := trace_of(raw.headers)) is not None:
            return self._parent(traceparent)
        checksum = _cause_checksum(raw)
        if checksum >= self._bound_of_hash:
            return None
        digest = int.from_bytes(blake2b(cause_of(raw).encode(), digest_size=12).digest())
        return SpanContext((digest >> 32) << 64 | checksum << 32 | digest % (1 << 32), 0, is_remote=True)

    def _parent(self, traceparent: str) -> SpanContext | None:
        """Return the trace context in `traceparent`, or None if it is invalid or not sampled.

        A trace is sampled if its producer sampled it and its trace id is within our sampling rate.
        """
        if well_formed_trace(traceparent) is None or not int(traceparent[-2:], 16) & TraceFlags.SAMPLED:
            return None
        if int(traceparent[19:35], 16) >= self._bound:  # the low 64 bits of the trace id
            return None
        _, trace_id, span_id, _ = traceparent.split("-")
        context = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=_SAMPLED)
        return context if context.is_valid else None


class _OtlpBatch:
    """Open spans of a batch and of its sampled records, which are keyed by record index."""

    def __init__(self, factory: _Spans, group: Consumer, batch: _OpenSpan, spans: Mapping[int, _OpenSpan]) -> None:
        self._factory = factory
        self._group = group
        self._batch = batch
        self._spans = spans
        self._started = time.perf_counter()

    def carried_on(self, records: Sequence[RawRecord]) -> Sequence[RawRecord]:
        carried = [*records]
        for at, span in self._spans.items():
            context = (TRACEPARENT, span.traceparent.encode())
            others = [one for one in records[at].headers if one[0] != TRACEPARENT]
            carried[at] = records[at]._replace(headers=[*others, context])
        return carried

    def traces(self, count: int) -> Iterator[tuple[int, str]]:
        for at, span in self._spans.items():
            if at < count:
                yield at, format_trace_id(span.context.trace_id)

    def ended(self, outcomes: Sequence[Outcome], times: StageTimes) -> None:
        for at, span in self._spans.items():
            if at < len(outcomes):
                outcome = outcomes[at]
                span.attributes["agent_feedback.outcome"] = outcome.kind
                if reason := outcome.reason:
                    span.attributes["agent_feedback.reason"] = reason
                span.failed = outcome.kind == "dead_lettered"
        self._end(times)

    def failed(self, error: str, times: StageTimes) -> None:
        for span in (*self._spans.values(), self._batch):
            span.attributes["error.type"] = error
            span.failed = True
        self._end(times)

    def _end(self, times: StageTimes) -> None:
        end = time.time_ns()
        for span in self._spans.values():
            self._factory.end(span, end)
        for name, one in times.spans.items():
            busy = {"agent_feedback.busy_seconds": one.seconds}
            stage = self._factory.begin(f"{self._group} {name}", self._at(one.start), busy, parent=self._batch.context)
            self._factory.end(stage, self._at(one.end))
        self._factory.end(self._batch, end)

    def _at(self, moment: float) -> int:
        """Convert a `perf_counter` time to nanoseconds since the epoch."""
        return self._batch.start + round((moment - self._started) * 1e9)


class _OtlpRequest:
    """Open span of an outgoing request."""

    def __init__(self, factory: _Spans, span: _OpenSpan) -> None:
        self._factory = factory
        self._span = span

    @property
    def traceparent(self) -> str:
        return self._span.traceparent

    def ended(self, error: str | None) -> None:
        if error is not None:
            self._span.attributes["error.type"] = error
            self._span.failed = True
        self._factory.end(self._span, time.time_ns())


def _cause_checksum(raw: RawRecord) -> int:
    """Return the checksum of `cause_of(raw)`, usually without building that string."""
    topic, partition, offset = raw.coordinates
    if raw.headers and topic not in FOREIGN:
        for name, value in raw.headers:
            if name == CAUSE and value is not None:
                return crc32(value) if value and value.isascii() else crc32(cause_of(raw).encode())
    return crc32(b"%d" % offset, _lane_checksum(topic, partition))


@lru_cache(maxsize=4096)
def _lane_checksum(topic: str, partition: int) -> int:
    """Return the checksum of `topic:partition:`, the common beginning of all log positions in a partition."""
    return crc32(f"{topic}:{partition}:".encode())
