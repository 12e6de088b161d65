"""Errors of MongoDB that waiting mends, by the numbers of its documentation; all others condemn the write."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo import ReadPreference
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    DuplicateKeyError,
    ExecutionTimeout,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WriteConcernError,
    WTimeoutError,
)

from feedback.mongo_connection import client_of, database_of, transient_as_unavailable, waiting_helps
from servicekit.errors import StartError, Unavailable


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        (AutoReconnect("x"), True),
        (NetworkTimeout("x"), True),
        (ServerSelectionTimeoutError("x"), True),
        (ExecutionTimeout("x", 50), True),
        (WaitQueueTimeoutError("x"), True),
        (WriteConcernError("x", 64), True),
        (WTimeoutError("x", 64), True),
        (OperationFailure("x", 121, {"errorLabels": ["RetryableWriteError"]}), True),
        (OperationFailure("x", 121, {"errorLabels": ["TransientTransactionError"]}), False),
        (DuplicateKeyError("x", 11_000), False),
        (ConfigurationError("x"), False),
        (PyMongoError("x"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_errors_that_waiting_mends(error: PyMongoError, helps: bool) -> None:
    assert waiting_helps(error) is helps
    with pytest.raises(Unavailable if helps else type(error)) as raised, transient_as_unavailable():
        raise error
    assert not helps or raised.value.__cause__ is error


@pytest.mark.parametrize(
    ("codes", "unreplicated", "helps"),
    [
        ([], False, False),
        ([], True, True),
        ([11_000], False, False),  # a lost race
        ([11_000], True, True),
        ([11_000, 189], False, True),
        ([189, 112], False, True),
        ([189, 121], False, False),  # an invalid document will not become valid
        ([121], True, False),
    ],
)
def test_a_bulk_write_waits_only_if_each_of_its_errors_may_pass(
    codes: list[int], unreplicated: bool, helps: bool
) -> None:
    details: dict[str, Any] = {"writeErrors": [{"code": code} for code in codes]}
    details["writeConcernErrors"] = [{"code": 64}] if unreplicated else []
    assert waiting_helps(BulkWriteError(details)) is helps


# Timeouts, concerns and database of the connection to MongoDB, none of which a server has to answer for.

NOWHERE = "mongodb://127.0.0.1:9"


async def test_what_is_acknowledged_is_never_rolled_back_whatever_the_url_says() -> None:
    async with client_of(f"{NOWHERE}/?w=1&journal=false&readPreference=secondary&readConcernLevel=local") as client:
        database = database_of(client)
        assert database.write_concern.document == {"w": "majority", "wtimeout": 20_000, "j": True}
        assert database.read_concern.level == "majority"
        assert database.read_preference == ReadPreference.PRIMARY


@pytest.mark.parametrize(("path", "name"), [("", "agent_feedback"), ("/", "agent_feedback"), ("/mine", "mine")])
async def test_the_database_is_the_one_in_the_url(path: str, name: str) -> None:
    async with client_of(NOWHERE + path) as client:
        assert database_of(client).name == name


@pytest.mark.parametrize("url", ["http://127.0.0.1", "mongodb://", "mongodb://h:port"])
def test_an_invalid_url_is_named(url: str) -> None:
    with pytest.raises(StartError, match="is not a valid MongoDB URL"):
        client_of(url)
