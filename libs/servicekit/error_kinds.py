"""Classification of errors as permanent, transient, outages or bugs, including those of asyncpg and aiokafka."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator

import asyncpg
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from servicekit.errors import LogUnavailable, Permanent, Unavailable

_TRANSIENT: tuple[type[BaseException], ...] = (
    Unavailable,
    OSError,
    TimeoutError,
    KafkaError,
    asyncpg.PostgresConnectionError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InterfaceError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.PostgresSystemError,
    asyncpg.InternalClientError,
)


_OUTAGES: tuple[type[BaseException], ...] = (
    LogUnavailable,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)


def is_outage(error: BaseException) -> bool:
    """Return True for an error that no record can cause, such as a full or read-only disk or a refused login.

    A test query may succeed despite such an error: a full disk, for example, can still be read.
    """
    return isinstance(error, _OUTAGES)


def is_transient(error: BaseException) -> bool:
    """Return True if a retry may succeed, for example after a lost connection, a timeout, a full disk or a deadlock."""
    return isinstance(error, _TRANSIENT) and not isinstance(error, MessageSizeTooLargeError)


def is_of_database(error: BaseException) -> bool:
    """Return True if asyncpg raised `error`, such as the OSError of a socket that is gone."""
    calls = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__name__", "")).startswith("asyncpg.") for frame, _ in calls)


_IN_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (LogUnavailable, "the log does not take what is written to it"),
    (KafkaError, "the log does not answer"),
    (asyncpg.ReadOnlySQLTransactionError, "the database is read-only"),
    (asyncpg.DiskFullError, "the database's disk is full"),
    (asyncpg.InsufficientResourcesError, "the database is short of memory or connections"),
    (asyncpg.LockNotAvailableError, "a lock in the database is held by somebody else"),
    (asyncpg.QueryCanceledError, "the database takes too long"),
    (asyncpg.OperatorInterventionError, "the database is being stopped or started"),
    (TimeoutError, "the database does not answer in time: a lock, or too much to do"),
    (asyncpg.InvalidAuthorizationSpecificationError, "the database rejects the user or password"),
    (asyncpg.InvalidCatalogNameError, "the database is not there by its name"),
    (asyncpg.PostgresConnectionError, "the database cannot be reached"),
    (asyncpg.InterfaceError, "the database cannot be reached"),
    (OSError, "the database cannot be reached"),
)


def in_words(error: BaseException) -> str:
    """Describe `error` for operators, without user text."""
    if isinstance(error, Unavailable) and not isinstance(error, LogUnavailable):
        return str(error)
    return next((words for kind, words in _IN_WORDS if isinstance(error, kind)), type(error).__name__)


@contextlib.contextmanager
def unavailable_as(what: str) -> Iterator[None]:
    """Convert transient errors in this block to Unavailable, with `what` as the name of the dependency."""
    try:
        yield
    except Exception as error:
        if not is_transient(error):
            raise
        raise Unavailable(what, in_words(error)) from None


def permanent_reason(error: BaseException) -> str | None:
    """Return the dead-letter reason for a permanent error, or None for any other error."""
    match error:
        case Permanent(reason=reason):
            return reason
        case MessageSizeTooLargeError():
            return "too_large"
        case _:
            return None
