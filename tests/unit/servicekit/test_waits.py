"""Errors of a database or a MongoDB that no wait can mend end a start at once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from pymongo.errors import OperationFailure

import feedback.mongo_connection as mongo
import servicekit.db.pools as pools
from servicekit.errors import StartError


class Refusing:
    """Stand-in for MongoDB's client, which refuses every command with `error`."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def with_options(self, **_: Any) -> Refusing:
        return self

    def get_default_database(self, _: str) -> Refusing:
        return self

    async def command(self, *_: Any) -> None:
        raise self._error


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail at a pause between two attempts. Other tasks of the event loop keep theirs."""

    async def sleep(_: float) -> None:
        raise AssertionError("it waits")

    for module in (pools, mongo):
        monkeypatch.setattr(module, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))


@pytest.mark.parametrize(
    "error", [asyncpg.InvalidPasswordError("x"), asyncpg.InvalidCatalogNameError("x"), ValueError("x")]
)
async def test_a_database_that_rejects_its_user_is_not_waited_for(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(asyncpg, "connect", connect)
    with pytest.raises(StartError):
        await pools.wait_for_database("postgresql://ann:secret@db.example/x", print)


@pytest.mark.parametrize("code", [11, 13, 18])
async def test_a_mongodb_that_rejects_its_user_is_not_waited_for(code: int) -> None:
    client: Any = Refusing(OperationFailure("x", code))
    with pytest.raises(StartError):
        await mongo.wait_until_up(client, "mongodb://db.example", print)
