"""Effect of each failure: a wait, a dead letter, or a search for the failing record."""

from __future__ import annotations

import asyncpg
import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from servicekit.error_kinds import is_outage, is_transient, permanent_reason
from servicekit.errors import LogUnavailable, Permanent, Unavailable

WAITS = [
    Unavailable("the database"),
    LogUnavailable(),
    KafkaConnectionError(),
    ConnectionResetError(),
    TimeoutError(),
    asyncpg.DiskFullError("full"),
    asyncpg.ReadOnlySQLTransactionError("read only"),
    asyncpg.QueryCanceledError("cancelled"),
    asyncpg.AdminShutdownError("shut down"),
    asyncpg.DeadlockDetectedError("deadlock"),
    asyncpg.LockNotAvailableError("locked"),
    asyncpg.TooManyConnectionsError("full"),
    asyncpg.InvalidPasswordError("rotated"),
    asyncpg.InvalidAuthorizationSpecificationError("may not log in"),
    asyncpg.InvalidCatalogNameError("renamed"),
    asyncpg.InterfaceError("closed"),
]
NOBODYS_FAULT = (
    LogUnavailable,
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)


@pytest.mark.parametrize("error", WAITS, ids=lambda error: type(error).__name__)
def test_what_waiting_may_mend(error: Exception) -> None:
    assert is_transient(error)
    assert permanent_reason(error) is None
    assert is_outage(error) == isinstance(error, NOBODYS_FAULT)


@pytest.mark.parametrize(
    ("error", "reason"), [(Permanent("contradiction"), "contradiction"), (MessageSizeTooLargeError(), "too_large")]
)
def test_what_condemns_its_record(error: Exception, reason: str) -> None:
    assert not is_transient(error)
    assert permanent_reason(error) == reason


@pytest.mark.parametrize("error", [ValueError(), KeyError(), asyncpg.DataError("?"), asyncpg.UniqueViolationError("?")])
def test_anything_else_is_a_bug(error: Exception) -> None:
    assert not is_transient(error)
    assert permanent_reason(error) is None
