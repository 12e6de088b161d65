"""Classification of PyMongo's errors: transient errors become Unavailable, others are left as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pymongo.errors import (
    BulkWriteError,
    ConnectionFailure,
    ExecutionTimeout,
    OperationFailure,
    PyMongoError,
    WaitQueueTimeoutError,
    WriteConcernError,
)

from servicekit.errors import Unavailable

DUPLICATE_KEY = 11_000
_WAITING_HELPS = frozenset(
    {
        6,  # HostUnreachable
        7,  # HostNotFound
        11,  # UserNotFound: credentials are rotated
        13,  # Unauthorized
        18,  # AuthenticationFailed
        24,  # LockTimeout
        46,  # LockBusy
        50,  # MaxTimeMSExpired
        64,  # WriteConcernTimeout
        79,  # UnknownReplWriteConcern
        89,  # NetworkTimeout
        91,  # ShutdownInProgress
        100,  # UnsatisfiableWriteConcern
        112,  # WriteConflict
        134,  # ReadConcernMajorityNotAvailableYet
        175,  # QueryPlanKilled: an index or collection was dropped during the query
        189,  # PrimarySteppedDown
        202,  # NetworkInterfaceExceededTimeLimit
        262,  # ExceededTimeLimit
        290,  # TransactionExceededLifetimeLimitSeconds
        317,  # ConnectionPoolExpired
        384,  # ConnectionError
        9_001,  # SocketException
        10_107,  # NotWritablePrimary
        11_600,  # InterruptedAtShutdown
        11_601,  # Interrupted
        11_602,  # InterruptedDueToReplStateChange
        13_435,  # NotPrimaryNoSecondaryOk
        13_436,  # NotPrimaryOrSecondary
        14_031,  # OutOfDiskSpace
    }
)


@contextmanager
def transient_as_unavailable() -> Iterator[None]:
    """Convert transient PyMongo errors that occur in this context to Unavailable.

    The error message contains no stored data.
    """
    try:
        yield
    except PyMongoError as error:
        if waiting_helps(error):
            raise Unavailable("MongoDB", type(error).__name__) from error
        raise


def waiting_helps(error: PyMongoError) -> bool:
    """Return True if a retry may succeed.

    Retries help after connection errors, timeouts, elections, missing replicas, full disks and rejected credentials.
    """
    match error:
        case ConnectionFailure() | ExecutionTimeout() | WaitQueueTimeoutError() | WriteConcernError():
            return True
        case BulkWriteError(details=details):
            return _bulk_may_wait(details)
        case OperationFailure(code=code):
            return code in _WAITING_HELPS or error.has_error_label("RetryableWriteError") or error.timeout
    return error.timeout


def _bulk_may_wait(details: Mapping[str, Any]) -> bool:
    """Return True if a retry of the bulk write may succeed.

    A duplicate key does not count as an error, because it only means that another process has inserted the record
    first.
    """
    failed: Sequence[Mapping[str, Any]] = details.get("writeErrors", ())
    codes = {error["code"] for error in failed} - {DUPLICATE_KEY}
    return codes <= _WAITING_HELPS and bool(codes or details.get("writeConcernErrors"))
