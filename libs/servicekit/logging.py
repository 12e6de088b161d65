"""JSON logging to standard error, with ids, counts and reasons but never user text."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

import structlog
from aiokafka.errors import GroupCoordinatorNotAvailableError

_SILENT = ("asyncpg", "uvicorn.access", "uvicorn.error")
KAFKA_LIBRARIES = ("aiokafka", "faststream")
"""Libraries with warnings that are logged: connection errors, such as a missing permission, appear only in them."""
_EXPECTED_WARNINGS = ("Auto create topics is disabled", "Heartbeat failed for group %s because it is rebalancing")
"""Beginnings of warnings of these libraries that are expected and therefore not logged."""
REPEAT_SECONDS = 60.0
"""Minimum time between two log lines from the same place in a library's code, in seconds."""
_PLAIN = re.compile(r"[\w.,:@/-]{1,100}", re.ASCII)


class RateLimit(logging.Filter):
    """Log filter that lets each logging call in the Kafka libraries write at most one line per minute.

    The suppressed lines are counted.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._places: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] not in KAFKA_LIBRARIES:
            return True
        if str(record.msg).startswith(_EXPECTED_WARNINGS) or _is_transient(record):
            return False
        position, now = (record.pathname, record.lineno), self._now()
        last, held_back = self._places.get(position, (-REPEAT_SECONDS, 0))
        if now - last < REPEAT_SECONDS:
            self._places[position] = last, held_back + 1
            return False
        self._places[position] = now, 0
        record.held_back = held_back
        return True


def _is_transient(record: logging.LogRecord) -> bool:
    """Return True if the line reports a missing group coordinator, which is normal just after Kafka's first start."""
    filled = record.args if isinstance(record.args, tuple) else ()
    return any(isinstance(value, GroupCoordinatorNotAvailableError) for value in filled)


def _in_words(record: logging.LogRecord) -> str:
    """Return the message of a Kafka library's log line, with only names, numbers and error classes filled in."""
    filled = record.args if isinstance(record.args, tuple) else ()
    try:
        return str(record.msg) % tuple(map(_loggable, filled))
    except (TypeError, ValueError):
        return str(record.msg)


def _loggable(value: object) -> object:
    match value:
        case BaseException():
            return type(value).__name__
        case type():
            return value.__name__
        case int() | float():
            return value
        case str() if _PLAIN.fullmatch(value):
            return value
        case tuple() if all(isinstance(part, int | str) and _PLAIN.fullmatch(str(part)) for part in value):
            return ":".join(map(str, value))
        case _:
            return type(value).__name__


class _BareFormatter(logging.Formatter):
    """Log formatter for the lines of libraries, which may contain user text.

    It writes the library and the error class, but no message. Only the messages of the Kafka libraries are written,
    because these libraries handle records as mere bytes.
    """

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[0] if record.exc_info else None
        facts = {"event": record.name, "level": record.levelname.lower(), "where": f"{record.module}:{record.lineno}"}
        if record.name.partition(".")[0] in KAFKA_LIBRARIES:
            facts |= {"message": _in_words(record), "held_back": vars(record).get("held_back", 0)}
        return json.dumps(facts | ({"error": error.__name__} if error else {}))


class _Stderr:
    """Standard error, on which a line that cannot be written is lost.

    A full disk must not turn the line about a failed request into another failure.
    """

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def configure_logging(level: str = "INFO", *, quiet: bool = False) -> None:
    """Write log lines as JSON to standard error.

    With `quiet`, only warnings and errors are written, and only errors of the Kafka libraries.
    """
    threshold = logging.WARNING if quiet else logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_BareFormatter())
    handler.addFilter(RateLimit())
    logging.basicConfig(handlers=[handler], level=threshold)
    for name in _SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for name in KAFKA_LIBRARIES:
        logging.getLogger(name).setLevel(logging.ERROR if quiet else max(threshold, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type] # all that print needs
        cache_logger_on_first_use=True,
    )


def logger(part: str) -> structlog.stdlib.BoundLogger:
    """Return a logger that adds `part`, the name of a program component, to each line."""
    bound: structlog.stdlib.BoundLogger = structlog.get_logger(part=part)
    return bound


def frames(error: BaseException) -> str:
    """Return the last three stack frames of `error` as `file:line function`, without the error's message."""
    lines = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in reversed(lines))
