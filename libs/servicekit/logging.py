"""JSON logs on standard error: ids, counts and reasons, never user text."""

from __future__ import annotations

import json
import logging
import sys
import traceback

import structlog

_NOISY = ("aiokafka", "asyncpg", "faststream", "kafka", "uvicorn.access", "uvicorn.error")


class _Bare(logging.Formatter):
    """Names the library and the error's class; messages of other people's code may hold user text."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[0] if record.exc_info else None
        facts = {"event": record.name, "level": record.levelname.lower(), "where": f"{record.module}:{record.lineno}"}
        return json.dumps(facts | ({"error": error.__name__} if error else {}))


def configure_logging(level: str = "INFO", *, quiet: bool = False) -> None:
    """Log JSON lines to standard error; `quiet` keeps warnings and worse only."""
    threshold = logging.WARNING if quiet else logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Bare())
    logging.basicConfig(handlers=[handler], level=threshold)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def logger(part: str) -> structlog.stdlib.BoundLogger:
    """A logger whose lines name their part."""
    bound: structlog.stdlib.BoundLogger = structlog.get_logger(part=part)
    return bound


def frames(error: BaseException) -> str:
    """Where `error` was raised, as `file:line function` of its last three frames; never its message."""
    found = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in reversed(found))
