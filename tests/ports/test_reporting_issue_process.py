"""The child process that groups issues: its work, its priority, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import psutil
import pytest
import uvloop

from reporting.issues.job import ISSUE_WORK
from reporting.read_models.database import Connection
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.sql import SQL
from servicekit.child_process import ChildFailed, ChildProcess
from servicekit.db.pools import open_pool
from servicekit.errors import Unavailable
from tests.support.databases import MIGRATIONS, new_database
from tests.support.hand_clock import HandClock
from tests.support.issue_turns import NOW, rejected_turns
from tests.support.reporting_events import batch
from tests.support.waits import PATIENCE_SECONDS


class Clock(HandClock):
    """Clock whose wall time is that of the turns."""

    def now(self) -> int:
        return NOW + super().now()


class Issues:
    """Rejected turns in a database of their own, and the child process that groups them."""

    def __init__(self, url: str, pool: asyncpg.Pool, encoder: str) -> None:
        self.pool = pool
        self.clock = Clock()
        self._parameters = (ISSUE_WORK, self.clock, url, "reporting", MIGRATIONS["reporting"])
        self._options = {"sentence_encoder": encoder}
        self.child = ChildProcess(*self._parameters, self._options)

    def end_after(self, idle_seconds: float) -> None:
        """Use a child process that ends after this time without requests."""
        self.child = ChildProcess(*self._parameters, self._options, idle_seconds=idle_seconds)

    async def catch_up(self) -> int:
        return await self.child.run(is_locked=False)

    async def reject(self, start: int, count: int) -> None:
        await ProjectionHandler(PostgresReadModels(self.pool)).handle(batch(*rejected_turns(start, count)))

    async def placed(self) -> int:
        count: int = await self.pool.fetchval("select count(*) from issue_turns")
        return count

    async def is_blocked(self) -> None:
        """Wait until a statement waits for a lock."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await self.pool.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)


@asynccontextmanager
async def opened(server: str, encoder: str = "none") -> AsyncIterator[Issues]:
    async with (
        new_database(server, "reporting") as url,
        await open_pool(url, "reporting", MIGRATIONS["reporting"]) as pool,
    ):
        made = Issues(url, pool, encoder)
        try:
            yield made
        finally:
            await made.child.close()


@pytest.fixture
async def issues(postgres_url: str) -> AsyncIterator[Issues]:
    async with opened(postgres_url) as made:
        yield made


@pytest.fixture
async def blocked(issues: Issues) -> AsyncIterator[Connection]:
    """Yield a connection that holds a lock for which the job waits."""
    async with issues.pool.acquire() as connection, connection.transaction():
        await connection.execute("lock table issue_turns in share mode")
        yield connection


def test_a_child_process_is_started_on_the_event_loop_of_the_services(postgres_url: str) -> None:
    """uvloop starts processes itself and takes fewer options than asyncio."""

    async def placed() -> int:
        async with opened(postgres_url) as issues:
            await issues.reject(0, 3)
            return await issues.catch_up()

    assert uvloop.run(placed()) == 3


async def test_a_child_process_with_low_priority_places_and_groups(issues: Issues) -> None:
    await issues.reject(0, 15)
    assert await issues.catch_up() == 15
    child = psutil.Process(issues.child.pid)
    assert child.nice() == os.nice(0) + 10
    assert os.getpgid(child.pid) == child.pid, "Ctrl-C must end this process first"
    assert os.getsid(child.pid) == os.getsid(0), "with autogroup scheduling, priorities count within a session only"
    grouped = await issues.pool.fetchval("select min(grouped_at) from issue_agents")
    assert grouped == issues.clock.now(), "the clock is the parent's"


async def test_no_secret_is_in_the_arguments_or_environment_of_the_process(issues: Issues) -> None:
    await issues.catch_up()
    child = psutil.Process(issues.child.pid)
    assert child.cmdline()[1:] == ["-m", "servicekit.child_program"]
    assert child.environ() == dict(os.environ)


async def test_a_process_remains_for_the_next_call(issues: Issues) -> None:
    await issues.reject(0, 3)
    assert await issues.catch_up() == 3
    pid = issues.child.pid
    await issues.reject(3, 2)
    assert await issues.catch_up() == 2
    assert issues.child.pid == pid


async def test_an_idle_process_ends_and_the_next_call_starts_another(issues: Issues) -> None:
    issues.end_after(idle_seconds=0)
    await issues.reject(0, 3)
    assert await issues.catch_up() == 3
    process = issues.child._process
    assert process is not None
    assert await process.wait() == -signal.SIGKILL
    assert issues.child.pid is None
    await issues.reject(3, 1)
    assert await issues.catch_up() == 1


async def test_the_time_without_calls_begins_after_a_call(issues: Issues, blocked: Connection) -> None:
    issues.end_after(idle_seconds=PATIENCE_SECONDS)
    await issues.catch_up()
    first = issues.child._timer
    await issues.reject(0, 3)
    running = asyncio.create_task(issues.catch_up())
    await issues.is_blocked()
    assert first is not None and first.cancelled(), "the process would end during a long call"
    await blocked.execute("rollback")
    assert await running == 3


async def test_a_killed_process_is_an_error_and_the_next_does_its_work(issues: Issues) -> None:
    await issues.reject(0, 3)
    await issues.catch_up()
    psutil.Process(issues.child.pid).kill()
    await issues.reject(3, 3)
    with pytest.raises(ChildFailed, match="exit code -9"):
        await issues.catch_up()
    assert await issues.catch_up() == 3


@pytest.mark.parametrize("ends", ["by closing", "by cancellation"])
async def test_an_interrupted_call_ends_its_process(issues: Issues, blocked: Connection, ends: str) -> None:
    await issues.reject(0, 3)
    running = asyncio.create_task(issues.catch_up())
    await issues.is_blocked()
    child = psutil.Process(issues.child.pid)
    if ends == "by closing":
        await issues.child.close()
    else:
        running.cancel()
    with pytest.raises((ChildFailed, asyncio.CancelledError)):
        await running
    await asyncio.to_thread(child.wait, PATIENCE_SECONDS)
    await blocked.execute("rollback")
    assert await issues.placed() == 0
    assert await issues.catch_up() == 3, "the response is to this call, by another process"


async def test_work_under_the_callers_lock_is_done(issues: Issues) -> None:
    await issues.reject(0, 3)
    async with issues.pool.acquire() as connection:
        assert await connection.fetchval(*SQL.lock_issues())
        assert await issues.catch_up() == 0
        assert await issues.child.run(is_locked=True) == 3


async def test_an_error_is_raised_by_its_class(postgres_url: str, capfd: pytest.CaptureFixture[str]) -> None:
    async with opened(postgres_url, "no-such/model") as issues:
        await issues.reject(0, 3)
        with pytest.raises(ChildFailed, match=r"^ModelMissing$"):
            await issues.catch_up()
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert [one["error"] for one in logged if one["event"] == "child_call_failed"] == ["ModelMissing"]


async def test_a_lost_database_counts_as_an_outage(issues: Issues, blocked: Connection) -> None:
    await issues.reject(0, 3)
    running = asyncio.create_task(issues.catch_up())
    await issues.is_blocked()
    await issues.pool.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and wait_event_type = 'Lock'"
    )
    with pytest.raises(Unavailable):
        await running


def test_the_process_ends_with_its_parent() -> None:
    """Standard input is closed when the parent ends for any reason."""
    settings = {"database_url": "postgresql://nobody@127.0.0.1:1/none", "schema": "reporting", "migrations": "."}
    child = subprocess.run(
        [sys.executable, "-m", "servicekit.child_program"],
        input=json.dumps({**settings, "work": ISSUE_WORK, "options": {}, "log_level": "ERROR"}) + "\n",
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        capture_output=True,
    )
    assert (child.returncode, child.stdout) == (0, "")


def test_a_process_that_cannot_begin_says_why_without_its_settings() -> None:
    settings = {"database_url": "nonsense:secret", "schema": "reporting", "migrations": ".", "log_level": "ERROR"}
    with subprocess.Popen(
        [sys.executable, "-m", "servicekit.child_program"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None and child.stderr is not None
        child.stdin.write(json.dumps(settings) + "\n")
        child.stdin.flush()
        assert child.wait(PATIENCE_SECONDS) == 1
        logged = child.stderr.read()
    assert json.loads(logged)["error"] == "StartError"
    assert "secret" not in logged
