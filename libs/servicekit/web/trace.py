"""W3C trace context of the current request. The records that the request writes inherit it."""

from __future__ import annotations

from contextvars import ContextVar

from contracts.headers import Headers, derived_headers, well_formed_trace

_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


def enter_trace(traceparent: str | None) -> None:
    """Set the trace of the current task from a request's header; a malformed header counts as missing."""
    _traceparent.set(well_formed_trace(traceparent))


def trace_headers() -> Headers:
    """Return the record headers that propagate the current request's trace; empty if it has none."""
    return derived_headers(traceparent=_traceparent.get())
