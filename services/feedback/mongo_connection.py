"""MongoDB connection with timeouts and majority concerns, and the classification of PyMongo's errors.

Transient errors become Unavailable, others are left as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient, ReadPreference
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    InvalidURI,
    OperationFailure,
    PyMongoError,
    WaitQueueTimeoutError,
    WriteConcernError,
)
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from servicekit.errors import StartError, Unavailable

Client = AsyncMongoClient[dict[str, Any]]
_SELECT_SECONDS = 5.0
_COMMAND_SECONDS = 30.0
_MAJORITY_SECONDS = 20.0
_DEFAULT_DATABASE = "agent_feedback"
_REFUSED = {11, 13, 18}
"""Error codes of rejected credentials: UserNotFound, Unauthorized, AuthenticationFailed."""


def client_of(url: str, select_seconds: float = _SELECT_SECONDS) -> Client:
    """Return an unconnected client for a MongoDB URL.

    Each step has its own timeout, and a command that takes more than 30 s counts as an outage. With a single timeout
    for the whole operation (`timeoutMS`), PyMongo would keep retrying until it expires, and report outages late.

    Raises:
        StartError: The URL is invalid.
    """
    try:
        return AsyncMongoClient(
            url,
            appname="agent-feedback",
            serverSelectionTimeoutMS=int(select_seconds * 1_000),
            connectTimeoutMS=int(_SELECT_SECONDS * 1_000),
            socketTimeoutMS=int(_COMMAND_SECONDS * 1_000),
            waitQueueTimeoutMS=int(_COMMAND_SECONDS * 1_000),
            timeoutMS=None,
        )
    except (InvalidURI, ConfigurationError, ValueError) as error:
        raise StartError(f"{url} is not a valid MongoDB URL: {type(error).__name__}.") from None


def database_of(client: Client) -> AsyncDatabase[dict[str, Any]]:
    """Return the database named in the URL, or `agent_feedback`.

    The URL's read and write options are overridden. A write is acknowledged after a majority of the servers has written
    it to their journals. A read returns only data that a majority has stored. Neither can be rolled back when the
    primary changes.
    """
    return client.get_default_database(_DEFAULT_DATABASE).with_options(
        codec_options=CodecOptions(uuid_representation=UuidRepresentation.STANDARD),
        read_preference=ReadPreference.PRIMARY,
        read_concern=ReadConcern("majority"),
        write_concern=WriteConcern("majority", wtimeout=int(_MAJORITY_SECONDS * 1_000), j=True),
    )


async def wait_until_up(client: Client, url: str, say: Callable[[str], None] = lambda _: None) -> None:
    """Wait until the server responds.

    Args:
        say: Called with the reason for waiting, every few seconds.

    Raises:
        StartError: The server rejects the user or the password.
    """
    tries = 0
    while True:
        try:
            with transient_as_unavailable():
                await database_of(client).command("ping")
                return
        except Unavailable as error:
            if isinstance(error.__cause__, OperationFailure) and error.__cause__.code in _REFUSED:
                raise StartError(f"The MongoDB at {url} rejects the user or password.") from None
            if tries % 5 == 0:
                say(f"Waiting for the MongoDB of the feedback store ({error.__cause__.__class__.__name__}) ...")
            tries += 1
            await asyncio.sleep(1)


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
