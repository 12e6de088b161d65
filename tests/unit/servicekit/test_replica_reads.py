"""Choice between a replica and its primary for reads."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any, cast

import asyncpg
import pytest

from servicekit.db.database import Database
from servicekit.db.replica import MOST_POSITIONS, ReplicaLag, ReplicaReads
from tests.support.hand_clock import HandClock

CLUSTER = 7


class Server:
    """A pool on a server that returns its name, or raises `error`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: BaseException | None = None
        self.lent = 0
        self.row: dict[str, Any] = {}

    async def fetchrow(self, *_: object) -> dict[str, Any]:
        self._fail()
        return self.row

    async def fetch(self, *_: object) -> str:
        self._fail()
        return self.name

    def acquire(self) -> Server:
        return self

    async def __aenter__(self) -> str:
        found = await self.fetch()
        self.lent += 1
        return found

    async def __aexit__(self, *_: object) -> None:
        self.lent -= 1

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


class Pair:
    """Reads of a primary and a replica that has replayed everything."""

    def __init__(self) -> None:
        self.primary, self.replica, self.clock = Server("primary"), Server("replica"), HandClock()
        self.primary.row = {"written": 100, "cluster": CLUSTER}
        self.replica.row = {"replayed": 100, "cluster": CLUSTER, "is_migrated": True}
        primary, replica = cast("Database", self.primary), cast("Database", self.replica)
        self.reads = ReplicaReads(primary, replica, self.clock, name="reporting", migration="0001", most_seconds=5)

    async def read(self) -> str:
        found: str = await self.reads.fetch("select 1")
        async with self.reads.acquire() as lent:
            assert lent == found
            assert self.primary.lent + self.replica.lent == 1
        assert self.primary.lent + self.replica.lent == 0
        return found


def test_the_lag_is_the_age_of_the_oldest_write_that_is_missing() -> None:
    lag = ReplicaLag()
    assert lag.observe(10, 100, 100) == 0
    assert lag.observe(11, 200, 100) == 0
    assert lag.observe(12, 300, 100) == 1
    assert lag.observe(13, 300, 200) == 1  # those of 12 are missing
    assert lag.observe(14, 300, 300) == 0


def test_the_lag_of_a_stopped_replica_takes_bounded_memory() -> None:
    lag, end = ReplicaLag(), 3 * MOST_POSITIONS
    lag.observe(0, 100, 100)
    for second in range(1, end):
        assert lag.observe(second, 100 + second, 100) == second - 1
    assert len(lag._ahead) == MOST_POSITIONS
    assert lag.observe(end, 100 + end, 100 + MOST_POSITIONS) == end - MOST_POSITIONS
    assert lag.observe(end + 1, 101 + end, 99 + end) == end + 1 - MOST_POSITIONS, "overstated"
    assert lag.observe(end + 2, 102 + end, 100 + end) == 1
    assert lag.observe(end + 3, 102 + end, 102 + end) == 0


def test_an_idle_primary_causes_no_lag() -> None:
    lag = ReplicaLag()
    assert [lag.observe(second, 100, 100) for second in range(3)] == [0, 0, 0]


async def test_the_replica_is_used_after_the_first_check() -> None:
    pair = Pair()
    assert await pair.read() == "primary"
    await pair.reads.check()
    assert await pair.read() == "replica"
    assert pair.reads.warnings == []


async def test_a_lagging_replica_is_not_used_until_it_has_caught_up() -> None:
    pair = Pair()
    await pair.reads.check()
    pair.primary.row["written"] = 200
    await pair.reads.check()
    pair.clock.forward(5)
    await pair.reads.check()
    assert await pair.read() == "replica"
    pair.clock.forward(1)
    await pair.reads.check()
    assert await pair.read() == "primary"
    assert pair.reads.warnings == ["reporting: the replica lags by 6 seconds, so reads use the primary"]
    pair.replica.row["replayed"] = 200
    await pair.reads.check()
    assert await pair.read() == "replica"


@pytest.mark.parametrize("lost", [False, True])
async def test_a_replica_of_unknown_age_is_not_used_until_it_has_replayed_an_observed_position(lost: bool) -> None:
    pair = Pair()
    if lost:
        await pair.reads.check()
        pair.replica.error = OSError()
        await pair.reads.check()
        pair.replica.error = None
    pair.primary.row["written"] = 200
    await pair.reads.check()
    assert await pair.read() == "primary"
    assert pair.reads.warnings == ["reporting: the replica has not caught up yet, so reads use the primary"]
    pair.primary.row["written"], pair.replica.row["replayed"] = 300, 200
    await pair.reads.check()
    assert await pair.read() == "replica"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda pair: pair.replica.row.update(cluster=8), "is a replica of another server"),
        (lambda pair: pair.replica.row.update(replayed=None), "accepts writes, so it is not a replica"),
        (lambda pair: pair.replica.row.update(is_migrated=False), "lacks the latest migration"),
        (lambda pair: setattr(pair.replica, "error", OSError()), "does not answer"),
        (lambda pair: setattr(pair.replica, "error", asyncpg.UndefinedTableError("x")), "lacks the service's tables"),
    ],
)
async def test_another_server_or_schema_is_not_used(change: Callable[[Pair], object], why: str) -> None:
    pair = Pair()
    await pair.reads.check()
    change(pair)
    await pair.reads.check()
    pair.replica.error = None
    assert await pair.read() == "primary"
    assert pair.reads.warnings == [f"reporting: the replica {why}, so reads use the primary"]


@pytest.mark.parametrize("error", [ConnectionRefusedError(), TimeoutError(errno.ETIMEDOUT, "x")], ids=str)
async def test_a_query_on_a_lost_replica_is_repeated_on_the_primary(error: Exception) -> None:
    pair = Pair()
    await pair.reads.check()
    pair.replica.error = error
    assert await pair.read() == "primary"
    pair.replica.error = None
    assert await pair.read() == "primary", "a lost replica is used before it was checked"
    await pair.reads.check()
    assert await pair.read() == "replica"


async def test_a_query_that_a_replayed_change_ends_is_repeated_and_the_replica_stays() -> None:
    pair = Pair()
    await pair.reads.check()
    pair.replica.error = asyncpg.SerializationError("canceling statement due to conflict with recovery")
    assert await pair.reads.fetch("select 1") == "primary"
    pair.replica.error = None
    assert await pair.read() == "replica"


@pytest.mark.parametrize("error", [asyncpg.UndefinedColumnError("x"), asyncpg.DataError("x"), TimeoutError()])
async def test_an_error_of_the_query_itself_is_not_repeated(error: Exception) -> None:
    pair = Pair()
    await pair.reads.check()
    pair.replica.error = error
    with pytest.raises(type(error)):
        await pair.reads.fetch("select 1")
    assert pair.reads.warnings == [], "the replica is still used"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda pair: setattr(pair.replica, "error", OSError()), "does not answer"),
        (lambda pair: pair.replica.row.update(is_migrated=False), "lacks the latest migration"),
    ],
)
async def test_a_query_whose_time_limit_passes_after_a_check_gave_up_the_replica_is_repeated(
    change: Callable[[Pair], object], why: str
) -> None:
    """The host of the replica may drop packets."""
    pair = Pair()
    await pair.reads.check()

    async def fetch(*_: object) -> str:
        change(pair)
        await pair.reads.check()
        raise TimeoutError

    pair.replica.fetch = fetch  # type: ignore[method-assign]
    assert await pair.reads.fetch("select 1") == "primary"
    assert pair.reads.warnings == [f"reporting: the replica {why}, so reads use the primary"], "the reason stays"


async def test_without_its_primary_the_choice_stays() -> None:
    pair = Pair()
    await pair.reads.check()
    pair.primary.error = OSError()
    with pytest.raises(OSError):
        await pair.reads.check()
    assert await pair.read() == "replica"
