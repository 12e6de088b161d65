"""JSON logs on standard error: ids, counts and reasons, never user text."""

from __future__ import annotations

import logging
import sys
import traceback

import structlog

_NOISY = ("aiokafka", "faststream", "uvicorn.access", "kafka")


def configure_logging(level: str = "INFO", *, quiet: bool = False) -> None:
    """Log JSON lines to standard error; `quiet` keeps warnings and worse only."""
    threshold = logging.WARNING if quiet else logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(stream=sys.stderr, level=threshold, format='{"event": "%(name)s", "level": "%(levelname)s"}')
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
