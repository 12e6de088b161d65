"""Errors of MongoDB that waiting mends, by the numbers of its documentation; all others condemn the write."""

from __future__ import annotations

from typing import Any

import pytest
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

from feedback.mongo_errors import transient_as_unavailable, waiting_helps
from servicekit import Unavailable

PASSING = {
    6, 7, 11, 13, 18, 24, 46, 50, 64, 79, 89, 91, 100, 112, 134, 175, 189, 202, 262, 290, 317, 384, 9_001, 10_107,
    11_600, 11_601, 11_602, 13_435, 13_436, 14_031,
}  # fmt: skip
"""Network, credentials in rotation, locks, elections, replicas and disks."""


def test_the_codes_that_waiting_mends() -> None:
    assert {code for code in range(20_000) if waiting_helps(OperationFailure("x", code))} == PASSING


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
