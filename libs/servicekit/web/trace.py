"""W3C trace context of the current request, which the records that it writes carry on."""

from __future__ import annotations

import re
from contextvars import ContextVar

from contracts.headers import Headers, derived_headers

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


def enter_trace(traceparent: str | None) -> None:
    """Set the trace of the current task from a request's header; a malformed header counts as missing."""
    is_valid = traceparent is not None and _TRACEPARENT.fullmatch(traceparent)
    _traceparent.set(traceparent if is_valid else None)


def trace_headers() -> Headers:
    """Return the record headers that carry on the current request's trace, if it has one."""
    return derived_headers(traceparent=_traceparent.get())
