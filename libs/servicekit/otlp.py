"""OpenTelemetry spans of batches and outgoing requests, exported by OTLP over HTTP.

A batch has one span. Its parent is the trace context of the batch's first sampled record, and it links to the contexts
of the others. If no record is sampled, the batch begins a trace of its own. Records without a trace context get the
context of the batch, so the records derived from them continue its trace. Spans contain neither user text nor ids of
people.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    Tracer,
    format_trace_id,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from contracts.headers import TRACEPARENT, trace_of
from contracts.topics import Consumer
from servicekit.clock import StageTimes
from servicekit.log.handler import Slot

EXPORT_SECONDS: Final = 3.0
"""Timeout of an export request to the collector, and of the final export at shutdown, in seconds."""
_W3C: Final = TraceContextTextMapPropagator()


class Traces:
    """Tracing of a process. All services share one exporter, and the spans of each carry the service's name."""

    def __init__(self, url: str, share: float) -> None:
        self._ratio = TraceIdRatioBased(share)
        self._processor = BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=EXPORT_SECONDS))

    def of(self, service: str) -> ServiceTracing:
        """Return the tracing of a service."""
        attributes = {"service.name": service, "service.namespace": "agent-feedback", "messaging.system": "kafka"}
        # The share also limits the cost of a producer that samples all of its traces.
        sampler = ParentBased(root=self._ratio, remote_parent_sampled=self._ratio)
        provider = TracerProvider(sampler, Resource.create(attributes), shutdown_on_exit=False)
        provider.add_span_processor(self._processor)
        return ServiceTracing(provider.get_tracer("agent-feedback"), self._ratio)

    async def flush(self) -> None:
        """Export all ended spans."""
        await asyncio.to_thread(self._processor.force_flush)

    async def close(self) -> None:
        """Export all ended spans, within a few seconds."""
        await asyncio.to_thread(self._processor.shutdown)


class ServiceTracing:
    """Tracer of a service."""

    def __init__(self, tracer: Tracer, ratio: TraceIdRatioBased) -> None:
        self._tracer = tracer
        self._ratio = ratio

    def begin(self, group: Consumer, slots: Sequence[Slot]) -> BatchTrace | None:
        """Start the span of a batch, or return None if it is not sampled."""
        traceparents = dict.fromkeys(trace_of(slot.raw.headers) if slot.raw.headers else None for slot in slots)
        contexts = [
            context
            for traceparent in traceparents
            if traceparent and (context := self._sampled(traceparent)) is not None
        ]
        if not contexts and None not in traceparents:
            return None
        parent, others = (contexts[0], contexts[1:]) if contexts else (None, [])
        attributes = {"messaging.consumer.group.name": group, "messaging.batch.message_count": len(slots)}
        links = [Link(context) for context in others]
        span = self._tracer.start_span(f"{group} batch", _context_of(parent), SpanKind.CONSUMER, attributes, links)
        return BatchTrace(self._tracer, group, span, slots) if span.is_recording() else None

    def _sampled(self, traceparent: str) -> SpanContext | None:
        """Return the trace context of a record if its producer sampled it and `TracingSettings.share` covers its id."""
        context = _parsed(traceparent)
        if context is None or not context.trace_flags.sampled:
            return None
        decision = self._ratio.should_sample(None, context.trace_id, "").decision
        return context if decision is not Decision.DROP else None


class BatchTrace:
    """Open span of a batch."""

    def __init__(self, tracer: Tracer, group: Consumer, span: Span, slots: Sequence[Slot]) -> None:
        self._tracer = tracer
        self._group = group
        self._span = span
        self._began = time.time_ns() - time.perf_counter_ns()
        header = (TRACEPARENT, traceparent_of(span).encode())
        for slot in slots:
            if trace_of(slot.raw.headers) is None:
                others = [(name, content) for name, content in slot.raw.headers if name != TRACEPARENT]
                slot.raw = slot.raw._replace(headers=[*others, header])

    @property
    def trace_id(self) -> str:
        return format_trace_id(self._span.get_span_context().trace_id)

    def ended(self, slots: Sequence[Slot], times: StageTimes, error: str | None = None) -> None:
        """End the span, with a child span for each stage.

        Args:
            error: The class name of the exception if the batch failed and will be delivered again.
        """
        context = set_span_in_context(self._span)
        for name, times_of_stage in times.spans.items():
            attributes = {"agent_feedback.busy_seconds": times_of_stage.seconds}
            stage = self._tracer.start_span(
                f"{self._group} {name}", context, attributes=attributes, start_time=self._at(times_of_stage.start)
            )
            stage.end(self._at(times_of_stage.end))
        letters = sum(slot.is_dead_letter for slot in slots)
        self._span.set_attribute("agent_feedback.dead_letters", letters)
        if error is not None:
            self._span.set_attribute("error.type", error)
        if error is not None or letters:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()

    def _at(self, moment: float) -> int:
        """Convert a `perf_counter` time to nanoseconds since the epoch."""
        return self._began + round(moment * 1e9)


def traceparent_of(span: Span) -> str:
    """Return the W3C trace context of a span."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier, set_span_in_context(span))
    return carrier[TRACEPARENT]


def _parsed(traceparent: str) -> SpanContext | None:
    context = get_current_span(_W3C.extract({TRACEPARENT: traceparent})).get_span_context()
    return context if context.is_valid else None


def _context_of(parent: SpanContext | None) -> Context:
    """Return a context that makes `parent` the parent of a new span, or an empty context without a parent."""
    return Context() if parent is None else set_span_in_context(NonRecordingSpan(parent), Context())
