"""Record headers: the origin and log time of derived records, and the last revision deleted by a tombstone. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

Headers = Sequence[tuple[str, bytes]]

CAUSE: Final = "cause"
"""Header of a derived record: the coordinates (topic, partition, offset) of the chat record that it derives from."""
TRACEPARENT: Final = "traceparent"
"""Header with the W3C trace context."""
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
LOG_TIME: Final = "agent-feedback-log-time"
"""Header of a replayed dead letter and of records derived from it: the log time of the original record, in
microseconds."""
REVISION: Final = "revision"
"""Header of a tombstone: the last revision that the tombstone deletes."""
_REVISION_DIGITS: Final = 18
"""Maximum number of digits of a revision. Milliseconds have 13, and 18 digits fit into 64 bits."""


def header(headers: Headers, name: str) -> str | None:
    """Return the text of the first header with the given name, or None if it is missing or not ASCII."""
    for key, value in headers:
        if key == name and value is not None:
            try:
                return value.decode("ascii")
            except UnicodeDecodeError:
                return None
    return None


def well_formed_trace(traceparent: str | None) -> str | None:
    """Return a W3C trace context unchanged if it is well-formed, otherwise None."""
    return traceparent if traceparent is not None and _TRACEPARENT.fullmatch(traceparent) else None


def trace_of(headers: Headers) -> str | None:
    """Return the trace context of a record, or None if it is missing or malformed."""
    return well_formed_trace(header(headers, TRACEPARENT))


def revision_named(headers: Headers) -> int | None:
    """Return the last revision that a tombstone deletes, or None if the header is missing or invalid."""
    named = header(headers, REVISION) or ""
    return int(named) if named.isdecimal() and len(named) <= _REVISION_DIGITS else None


def derived_headers(
    cause: str | None = None, log_time: int | None = None, traceparent: str | None = None
) -> list[tuple[str, bytes]]:
    """Return the headers for a record that a service derives from a chat record.

    Values that are None are omitted.

    Args:
        cause: Coordinates of the chat record in the log, as `topic:partition:offset`.
        log_time: Time at which the person's text first appeared in the log, in microseconds.
        traceparent: W3C trace context.
    """
    named = ((CAUSE, cause), (LOG_TIME, None if log_time is None else str(log_time)), (TRACEPARENT, traceparent))
    return [(name, value.encode()) for name, value in named if value]
