"""Effect of each failure: a wait, a dead letter, or a search for the failing record."""

from __future__ import annotations

import asyncpg
import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from servicekit.error_kinds import in_words, is_outage, is_transient, permanent_reason, unavailable_as
from servicekit.errors import LogUnavailable, Permanent, RequestRefused, Unavailable
from servicekit.web.refusals import answer_of, unavailable

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


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Unavailable("the provider"), "the provider is not available"),
        (LogUnavailable("secret"), "the log does not take what is written to it"),
        (KafkaConnectionError("secret"), "the log does not answer"),
        (asyncpg.TooManyConnectionsError("secret"), "the database is short of memory or connections"),
        (asyncpg.DiskFullError("secret"), "the database's disk is full"),
        (asyncpg.LockNotAvailableError("secret"), "a lock in the database is held by somebody else"),
        (asyncpg.QueryCanceledError("secret"), "the database takes too long"),
        (asyncpg.InvalidPasswordError("secret"), "the database rejects the user or password"),
        (asyncpg.InvalidCatalogNameError("secret"), "the database is not there by its name"),
        (asyncpg.ConnectionDoesNotExistError("secret"), "the database cannot be reached"),
        (asyncpg.InterfaceError("secret"), "the database cannot be reached"),
        (ConnectionResetError("secret"), "the database cannot be reached"),
        (asyncpg.DeadlockDetectedError("secret"), "DeadlockDetectedError"),
        (ValueError("secret"), "ValueError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_operator_is_told_in_words_without_the_errors_own_text(error: Exception, words: str) -> None:
    assert in_words(error) == words


def test_only_what_waiting_may_mend_becomes_unavailable() -> None:
    with pytest.raises(Unavailable) as raised, unavailable_as("the store"):
        raise asyncpg.QueryCanceledError("secret")
    assert str(raised.value) == str(Unavailable("the store", "the database takes too long"))
    with pytest.raises(ValueError, match="a bug"), unavailable_as("the store"):
        raise ValueError("a bug")


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        (RequestRefused(503, "Later."), "5"),
        (RequestRefused(503, "Later.", 60), "60"),
        (RequestRefused(503, "Later.", 0), "0"),
        (RequestRefused(429, "Too many.", 7), "7"),
        (RequestRefused(429, "Too many."), None),
        (RequestRefused(403, "No."), None),
    ],
)
def test_a_refusal_for_a_time_says_when_to_come_back(refusal: RequestRefused, seconds: str | None) -> None:
    answer = answer_of(refusal)
    assert answer.status_code == refusal.status
    assert answer.headers.get("retry-after") == seconds


def test_a_caller_is_told_what_is_unavailable() -> None:
    assert unavailable(Unavailable("the database")) == "The database is not available; send this again later."
