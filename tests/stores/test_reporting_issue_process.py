"""The child process that groups issues: its work, its priority, and its end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg
import psutil
import pytest
import uvloop

from reporting.issues.job import ISSUE_WORK
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.sql.connection import Connection
from servicekit.child_process import ChildFailed, ChildProcess, ChildTimes, retry_delay
from servicekit.db.pools import open_pool
from servicekit.errors import StartError, Unavailable
from tests.support.command import HANG_SECONDS
from tests.support.databases import SCHEMAS, new_database
from tests.support.hand_clock import HandClock
from tests.support.issue_turns import NOW, rejected_turns
from tests.support.reporting_events import batch
from tests.support.running_stack import running_stack
from tests.support.waits import PATIENCE_SECONDS

ROOT: Final = Path(__file__).parents[2]


class Clock(HandClock):
    """Clock whose wall time is that of the turns."""

    def now(self) -> int:
        return NOW + super().now()


class Issues:
    """Rejected turns in a database of their own, and the child process that groups them."""

    def __init__(self, url: str, pool: asyncpg.Pool, encoder: str) -> None:
        self.pool = pool
        self.url = url
        self.clock = Clock()
        self._encoder = encoder
        self.set_times()

    def set_times(self, **seconds: float) -> None:
        """Use a child process with these times."""
        self.child = self.child_with(ISSUE_WORK, {"sentence_encoder": self._encoder}, **seconds)

    def child_with(self, work: str, options: dict[str, str], **seconds: float) -> ChildProcess:
        times = ChildTimes(**seconds)
        return ChildProcess(work, self.clock, self.url, "reporting", SCHEMAS["reporting"], options, times)

    async def catch_up(self) -> int:
        return await self.child.run()

    async def reject(self, start: int, count: int) -> None:
        await ProjectionHandler(PostgresReadModels(self.pool)).handle(batch(*rejected_turns(start, count)))

    async def placed(self) -> int:
        count: int = await self.pool.fetchval("select count(*) from issue_turns")
        return count

    async def is_blocked(self) -> None:
        """Wait until a statement of the child process waits for a lock."""
        async with asyncio.timeout(HANG_SECONDS):
            while not await self.pool.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)


@asynccontextmanager
async def opened(server: str, encoder: str = "none") -> AsyncIterator[Issues]:
    async with (
        new_database(server, "reporting") as url,
        await open_pool(url, "reporting", SCHEMAS["reporting"]) as pool,
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


async def test_an_idle_process_ends_and_the_next_call_starts_another(issues: Issues) -> None:
    issues.set_times(idle=0)
    await issues.reject(0, 3)
    assert await issues.catch_up() == 3
    process = issues.child._process
    assert process is not None
    assert await process.wait() == 0
    assert issues.child.pid is None
    await issues.reject(3, 1)
    assert await issues.catch_up() == 1


def test_a_process_remains_for_the_next_call_and_is_replaced_if_it_died(postgres_url: str) -> None:
    async def placed() -> list[int]:
        async with opened(postgres_url) as issues:
            counts = []
            for start in (0, 3, 6):
                await issues.reject(start, 3)
                counts.append(await issues.catch_up())
                process = issues.child._process
                assert process is not None
                if start == 0:
                    first = process
                if start == 3:
                    assert process is first
                    process.kill()
                    await process.wait()
            return counts

    assert uvloop.run(placed()) == [3, 3, 3]


async def test_the_death_of_a_process_is_an_error_and_delays_the_next(issues: Issues, blocked: Connection) -> None:
    issues.set_times(retry=PATIENCE_SECONDS)
    await issues.reject(0, 3)
    running = asyncio.create_task(issues.catch_up())
    await issues.is_blocked()
    psutil.Process(issues.child.pid).kill()
    with pytest.raises(ChildFailed, match=r"^exit code -9$"):
        await running
    waiting = asyncio.create_task(issues.catch_up())
    done, _ = await asyncio.wait({waiting}, timeout=0.5)
    assert not done and issues.child.pid is None
    waiting.cancel()


async def test_a_hung_process_is_replaced_after_its_deadline(issues: Issues, blocked: Connection) -> None:
    issues.set_times(retry=0.01, deadline=0.01)
    await issues.reject(0, 3)
    with pytest.raises(ChildFailed, match=r"^no response within "):
        await issues.catch_up()
    issues.child._times = ChildTimes(retry=0.01)
    await blocked.execute("rollback")
    assert await issues.catch_up() == 3


def test_the_delay_doubles_up_to_five_minutes() -> None:
    assert [retry_delay(deaths) for deaths in (1, 2, 3, 6, 2_000)] == [10, 20, 40, 300, 300]


@pytest.mark.parametrize("ends", ["by closing", "by cancellation"])
async def test_an_interrupted_call_ends_its_process(issues: Issues, blocked: Connection, ends: str) -> None:
    await issues.reject(0, 3)
    running = asyncio.create_task(issues.catch_up())
    await issues.is_blocked()
    child = psutil.Process(issues.child.pid)
    if ends == "by closing":
        await issues.child.close()
        assert not child.is_running()
    else:
        running.cancel()
    with pytest.raises((ChildFailed, asyncio.CancelledError)):
        await running
    await asyncio.to_thread(child.wait, HANG_SECONDS)
    assert not await issues.pool.fetchval("select exists (select from pg_locks where not granted)"), "it still waits"
    await blocked.execute("rollback")
    assert await issues.placed() == 0


async def test_a_missing_encoder_is_told_with_what_to_do(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_folder))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    async with opened(postgres_url, "minilm") as issues:
        await issues.reject(0, 3)
        with pytest.raises(StartError) as told:
            await issues.catch_up()
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")][-1]
    assert (logged["event"], logged["error"]) == ("child_call_failed", "StartError")
    assert logged["why"] == str(told.value)
    assert "cannot be fetched from Maven Central" in logged["why"]


async def test_another_error_is_told_by_its_class_only(
    issues: Issues, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    child = issues.child_with("tests.support.child_work:open_failing", {})
    with pytest.raises(ChildFailed, match=r"^KeyError$"):
        await child.run()
    await child.close()
    assert "secret" not in capfd.readouterr().err


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


_PARENT: Final = """
import asyncio, sys
from reporting.sql import SQL
from servicekit.child_process import ChildProcess
from servicekit.clock import SystemClock

url, started = sys.argv[1:]
work = "tests.support.child_work:open_endless"
child = ChildProcess(work, SystemClock(), url, "reporting", SQL.schema, {"started": started})
asyncio.run(child.run())
"""


async def test_a_process_ends_with_its_parent_even_while_a_thread_computes(
    issues: Issues, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    started = tmp_path / "started"
    arguments = (issues.url, str(started))
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", _PARENT, *arguments)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not started.exists():
            assert parent.returncode is None
            await asyncio.sleep(0.02)
    (child,) = psutil.Process(parent.pid).children()
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(child.wait, HANG_SECONDS)


async def test_a_process_of_another_release_does_nothing_and_says_why(
    issues: Issues, capfd: pytest.CaptureFixture[str]
) -> None:
    issues.child._settings["schema_version"] = "of another release"
    with pytest.raises(ChildFailed, match="exit code 1"):
        await issues.catch_up()
    (logged,) = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert (logged["event"], logged["error"]) == ("child_process_failed", "StartError")
    assert "restart the service" in logged["why"]


async def test_a_service_ends_its_child_process(issues: Issues, postgres_url: str) -> None:
    async with running_stack(postgres_url) as stack:
        service = stack.stack.services["reporting"]
        run = service.child_process(ISSUE_WORK, issues.url, SCHEMAS["reporting"], sentence_encoder="none")
        assert await run() == 0
        assert len(_children()) == 1
    assert _children() == []


def _children() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if "servicekit.child_program" in one.cmdline()]
