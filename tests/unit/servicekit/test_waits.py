"""Waits for a database, a broker or a MongoDB at start: as long as it takes, with a line now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from aiokafka.errors import KafkaConnectionError
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError

import feedback.mongo_connection as mongo
import servicekit.db.pools as pools
import servicekit.log.topics as topics
from servicekit.errors import StartError

Wait = Callable[[Callable[[str], None]], Awaitable[Any]]


class Server:
    """Stand-in for the clients of all three, which raises `error` at the first attempts."""

    def __init__(self, error: Exception, attempts: int) -> None:
        self.error = error
        self.left = attempts
        self.closed = 0

    async def attempt(self, *_: Any, **__: Any) -> Server:
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return self

    start = command = attempt

    async def close(self, **_: Any) -> None:
        self.closed += 1

    def with_options(self, **_: Any) -> Server:
        return self

    def get_default_database(self, _: str) -> Server:
        return self


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses between attempts, in seconds; none is waited for. Other tasks of the event loop keep theirs."""
    made: list[float] = []

    async def sleep(seconds: float) -> None:
        made.append(seconds)

    without_pauses = SimpleNamespace(**{**vars(asyncio), "sleep": sleep})
    for module in (pools, topics, mongo):
        monkeypatch.setattr(module, "asyncio", without_pauses)
    return made


def database(server: Server, monkeypatch: pytest.MonkeyPatch) -> Wait:
    monkeypatch.setattr(asyncpg, "connect", server.attempt)
    return lambda say: pools.wait_for_database("postgresql://ann:secret@db.example/x", say)


def broker(server: Server, monkeypatch: pytest.MonkeyPatch) -> Wait:
    monkeypatch.setattr(topics, "AIOKafkaAdminClient", lambda **_: server)
    return lambda say: topics.wait_for_broker("kafka.example:9092", say)


def mongo_db(server: Server, monkeypatch: pytest.MonkeyPatch) -> Wait:
    client: Any = server
    return lambda say: mongo.wait_until_up(client, "mongodb://db.example", say)


@pytest.mark.parametrize(
    ("waiting", "error"),
    [(database, OSError("secret")), (database, asyncpg.CannotConnectNowError("secret")), (broker, OSError("secret")),
     (broker, KafkaConnectionError("secret")), (mongo_db, ServerSelectionTimeoutError("secret"))],
)  # fmt: skip
async def test_a_wait_is_told_at_once_and_every_five_attempts(
    waiting: Callable[..., Wait], error: Exception, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    server = Server(error, 11)
    await waiting(server, monkeypatch)(lambda said: told.append(len(pauses) if "secret" not in said else -1))
    assert (told, pauses) == ([0, 5, 10], [1] * 11)
    if waiting is broker:
        assert server.closed == 11, "each client that could not start"


@pytest.mark.parametrize(
    ("waiting", "error"),
    [(database, asyncpg.InvalidPasswordError("x")), (database, asyncpg.InvalidCatalogNameError("x")),
     (database, ValueError("x")), *((mongo_db, OperationFailure("x", code)) for code in (11, 13, 18))],
)  # fmt: skip
async def test_what_no_wait_can_mend_is_not_waited_for(
    waiting: Callable[..., Wait], error: Exception, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StartError):
        await waiting(Server(error, 1), monkeypatch)(lambda _: None)
    assert pauses == []
