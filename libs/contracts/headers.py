"""Headers of records: the origin of a derived record, and the revision that a tombstone ends. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

Headers = Sequence[tuple[str, bytes]]

CAUSE: Final = "cause"
"""Header of a derived record: the coordinates of the chat record that it derives from."""
TRACEPARENT: Final = "traceparent"
LOG_TIME: Final = "agent-feedback-log-time"
"""Header of a replayed dead letter and of records derived from it: the log time of its first record, in
microseconds."""
REVISION: Final = "revision"
"""Header of a tombstone: the revision that it ends."""
_REVISION_DIGITS: Final = 18
"""Maximum digits of a revision: milliseconds have 13, and 18 digits still fit into 64 bits."""


def header(headers: Headers, name: str) -> str | None:
    """Return the text of the first header called `name`, or None if it is missing or not ASCII."""
    for key, value in headers:
        if key == name and value is not None:
            try:
                return value.decode("ascii")
            except UnicodeDecodeError:
                return None
    return None


def revision_named(headers: Headers) -> int | None:
    """Return the revision that a tombstone's headers name, or None if it is missing or invalid."""
    named = header(headers, REVISION) or ""
    return int(named) if named.isdecimal() and len(named) <= _REVISION_DIGITS else None


def derived_headers(
    cause: str | None = None, log_time: int | None = None, traceparent: str | None = None
) -> list[tuple[str, bytes]]:
    """Return the headers of a derived record, without those that are None.

    `cause` has the coordinates of the chat record, `log_time` (microseconds) the first log time of the words in it.
    """
    named = ((CAUSE, cause), (LOG_TIME, None if log_time is None else str(log_time)), (TRACEPARENT, traceparent))
    return [(name, value.encode()) for name, value in named if value]
