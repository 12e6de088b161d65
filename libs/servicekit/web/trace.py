"""Trace of the current request (W3C trace context), which the records written by the request inherit."""

from __future__ import annotations

from contextvars import ContextVar

from contracts.headers import Headers, derived_headers, well_formed_trace

_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


def enter_trace(traceparent: str | None) -> None:
    """Set the current task's trace from a request header. A malformed header counts as missing."""
    _traceparent.set(well_formed_trace(traceparent))


def trace_headers() -> Headers:
    """Return the headers that pass the current request's trace to its records, or none if there is no trace."""
    return derived_headers(traceparent=_traceparent.get())
