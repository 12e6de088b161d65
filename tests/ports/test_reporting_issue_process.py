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
from typing import Final

import asyncpg
import psutil
import pytest
import uvloop

from contracts.instants import DAY
from reporting.issues.process import IDLE_SECONDS, IssueProcess, IssueProcessError
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.sql import SQL
from servicekit.db.pools import open_pool
from servicekit.errors import Unavailable
from tests.support.databases import MIGRATIONS, new_database
from tests.support.hand_clock import HandClock
from tests.support.issue_turns import NOW, rejected_turns
from tests.support.reporting_events import batch
from tests.support.waits import PATIENCE_SECONDS

_IDLE: Final = int(IDLE_SECONDS)


class Clock(HandClock):
    """Clock whose wall time is that of the turns."""

    def now(self) -> int:
        return NOW + super().now()


class Issues:
    """The runner on a database of its own, and what is in the database."""

    def __init__(self, url: str, pool: asyncpg.Pool, encoder: str) -> None:
        self.pool = pool
        self.clock = Clock()
        self.process = IssueProcess(pool, self.clock, url, encoder)

    async def reject(self, start: int, count: int) -> None:
        await ProjectionHandler(PostgresReadModels(self.pool)).handle(batch(*rejected_turns(start, count)))

    async def placed(self) -> int:
        count: int = await self.pool.fetchval("select count(*) from issue_turns")
        return count


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
            await made.process.close()


@pytest.fixture
async def issues(postgres_url: str) -> AsyncIterator[Issues]:
    async with opened(postgres_url) as made:
        yield made


def test_a_child_process_is_started_on_the_event_loop_of_the_services(postgres_url: str) -> None:
    """uvloop starts processes itself and takes fewer options than asyncio."""

    async def placed() -> int:
        async with opened(postgres_url) as issues:
            await issues.reject(0, 3)
            return await issues.process.catch_up()

    assert uvloop.run(placed()) == 3


async def test_a_child_process_with_low_priority_places_and_groups(issues: Issues) -> None:
    await issues.reject(0, 15)
    assert await issues.process.catch_up() == 15
    assert issues.process.pid is not None
    child = psutil.Process(issues.process.pid)
    assert child.nice() == os.nice(0) + 10
    assert os.getpgid(child.pid) == child.pid, "Ctrl-C must end this process first"
    assert os.getsid(child.pid) == os.getsid(0), "with autogroup scheduling, priorities count within a session only"
    grouped = await issues.pool.fetchval("select min(grouped_at) from issue_agents")
    assert grouped == issues.clock.now(), "the clock is the parent's"


async def test_without_work_no_process_is_started(issues: Issues) -> None:
    assert await issues.process.catch_up() == 0
    assert issues.process.pid is None


async def test_a_process_remains_for_the_next_work_and_ends_when_idle(issues: Issues) -> None:
    await issues.reject(0, 3)
    assert await issues.process.catch_up() == 3
    pid = issues.process.pid
    issues.clock.forward(_IDLE - 1)
    assert await issues.process.catch_up() == 0
    await issues.reject(3, 2)
    assert await issues.process.catch_up() == 2
    assert issues.process.pid == pid, "another process was started although one was idle for a moment only"
    issues.clock.forward(_IDLE)
    assert await issues.process.catch_up() == 0
    assert issues.process.pid is None and pid is not None and not psutil.pid_exists(pid)
    await issues.reject(5, 1)
    assert await issues.process.catch_up() == 1


async def test_the_daily_grouping_is_done_without_changed_rejections(issues: Issues) -> None:
    await issues.reject(0, 15)
    await issues.process.catch_up()
    before = await issues.pool.fetchval("select min(grouped_at) from issue_agents")
    issues.clock.forward(DAY // 1_000_000)
    await issues.process.catch_up()
    assert await issues.pool.fetchval("select min(grouped_at) from issue_agents") > before


async def test_the_work_of_a_killed_process_is_done_by_the_next(issues: Issues) -> None:
    await issues.reject(0, 3)
    await issues.process.catch_up()
    assert issues.process.pid is not None
    os.kill(issues.process.pid, signal.SIGKILL)
    await issues.reject(3, 3)
    with pytest.raises(IssueProcessError, match="exit code -9"):
        await issues.process.catch_up()
    assert await issues.process.catch_up() == 3


@pytest.mark.parametrize("ends", ["by closing", "by cancellation"])
async def test_an_interrupted_run_ends_its_process(issues: Issues, ends: str) -> None:
    await issues.reject(0, 3)
    async with issues.pool.acquire() as connection, connection.transaction():
        await connection.execute("lock table issue_turns in share mode")
        running = asyncio.create_task(issues.process.catch_up())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await connection.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)
        assert issues.process.pid is not None
        child = psutil.Process(issues.process.pid)
        if ends == "by closing":
            await issues.process.close()
        else:
            running.cancel()
        with pytest.raises((IssueProcessError, asyncio.CancelledError)):
            await running
        await asyncio.to_thread(child.wait, PATIENCE_SECONDS)
    assert await issues.placed() == 0
    assert await issues.process.catch_up() == 3, "the response is to this request, by another process"


async def test_work_under_the_callers_lock_is_done(issues: Issues) -> None:
    await issues.reject(0, 3)
    async with issues.pool.acquire() as connection:
        assert await connection.fetchval(*SQL.lock_issues())
        assert await issues.process.catch_up() == 0
        assert await issues.process.work() == 3


async def test_an_error_is_raised_by_its_class(postgres_url: str, capfd: pytest.CaptureFixture[str]) -> None:
    async with opened(postgres_url, "no-such/model") as issues:
        await issues.reject(0, 3)
        with pytest.raises(IssueProcessError, match=r"^ModelMissing$"):
            await issues.process.catch_up()
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert [one["error"] for one in logged if one["event"] == "issue_job_failed"] == ["ModelMissing"]


async def test_a_lost_database_counts_as_an_outage(issues: Issues) -> None:
    await issues.reject(0, 3)
    await issues.process.catch_up()
    await issues.reject(3, 3)
    ending = """select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'"""
    async with issues.pool.acquire() as connection, connection.transaction():
        await connection.execute("lock table issue_turns in share mode")
        running = asyncio.create_task(issues.process.catch_up())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await connection.fetch(ending):
                await asyncio.sleep(0.01)
        with pytest.raises(Unavailable):
            await running


def test_the_process_ends_with_its_parent() -> None:
    """Standard input is closed when the parent ends for any reason."""
    settings = {
        "database_url": "postgresql://nobody@127.0.0.1:1/none",
        "sentence_encoder": "none",
        "log_level": "ERROR",
    }
    child = subprocess.run(
        [sys.executable, "-m", "reporting.issues"],
        input=json.dumps(settings) + "\n",
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        capture_output=True,
    )
    assert (child.returncode, child.stdout) == (0, "")
