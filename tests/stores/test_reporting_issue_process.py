"""The child process that keeps issues up to date: its work, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import asyncpg
import psutil
import pytest

from reporting.issues.process import NICENESS, IssueProcessFailed, run_process, work
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.sql.connection import Connection
from servicekit.db.pools import COMMAND_SECONDS, open_pool
from tests.support.command import HANG_SECONDS
from tests.support.databases import SCHEMAS, new_database
from tests.support.issue_turns import rejected_turns
from tests.support.reporting_events import batch
from tests.support.running_stack import running_stack

END_SECONDS: Final = COMMAND_SECONDS * 0.7
"""Bound of a wait for the end of the process. Later it ends in any case, because its blocked statement fails."""


class Issues:
    """Rejected turns in a database of their own, with the issues that they are in."""

    def __init__(self, url: str, pool: asyncpg.Pool) -> None:
        self.url = url
        self.pool = pool

    async def reject(self, start: int, count: int) -> None:
        await ProjectionHandler(PostgresReadModels(self.pool)).handle(batch(*rejected_turns(start, count)))

    async def run(self, **seconds: float) -> None:
        await run_process(self.url, "none", **{"life": 0.0, "retry": 0.0, **seconds})

    async def turns(self) -> int:
        count: int = await self.pool.fetchval("select count(*) from issue_turns")
        return count

    async def has_turns(self, count: int) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            while await self.turns() < count:
                await asyncio.sleep(0.01)

    async def is_blocked(self, blocked: bool = True) -> None:
        """Wait until a statement of the child process waits for a lock, or none does."""
        async with asyncio.timeout(HANG_SECONDS):
            while blocked != await self.pool.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)


@pytest.fixture
async def issues(postgres_url: str) -> AsyncIterator[Issues]:
    async with (
        new_database(postgres_url, "reporting") as url,
        await open_pool(url, "reporting", SCHEMAS["reporting"]) as pool,
    ):
        yield Issues(url, pool)


@pytest.fixture
async def blocked(issues: Issues) -> AsyncIterator[Connection]:
    """Yield a connection that holds a lock for which the job of three rejected turns waits."""
    await issues.reject(0, 3)
    async with issues.pool.acquire() as connection, connection.transaction():
        await connection.execute("lock table issue_turns in share mode")
        yield connection


def _child(parent: psutil.Process) -> psutil.Process:
    (child,) = [child for child in parent.children() if "reporting.issues.process" in child.cmdline()]
    return child


async def test_the_process_does_what_is_due_and_ends(issues: Issues) -> None:
    await issues.reject(0, 3)
    await issues.run()
    assert await issues.turns() == 3


async def test_the_job_runs_again_until_its_time_is_over(issues: Issues) -> None:
    working = asyncio.create_task(work(issues.url, "none", life=HANG_SECONDS, pause=0.01))
    for count in (3, 6):
        await issues.reject(count - 3, 3)
        await issues.has_turns(count)
    working.cancel()


async def test_the_process_computes_with_one_thread_and_low_priority(issues: Issues, blocked: Connection) -> None:
    running = asyncio.create_task(issues.run())
    await issues.is_blocked()
    child = _child(psutil.Process())
    environment, niceness, group = child.environ(), child.nice(), Path(f"/proc/{child.pid}/autogroup")
    # Linux lets other users than root set it only ten times a second.
    priority = group.read_text() if os.geteuid() == 0 and os.access(group, os.W_OK) else None
    running.cancel()
    assert (environment["OMP_NUM_THREADS"], environment["OPENBLAS_NUM_THREADS"]) == ("1", "1")
    assert niceness == min(19, psutil.Process().nice() + NICENESS)
    assert priority is None or priority.endswith(f"nice {NICENESS}\n")


async def test_a_killed_process_is_an_error(issues: Issues, blocked: Connection) -> None:
    running = asyncio.create_task(issues.run())
    await issues.is_blocked()
    _child(psutil.Process()).kill()
    with pytest.raises(IssueProcessFailed, match=r"^exit code -9$"):
        await running


async def test_a_hung_process_is_killed(issues: Issues, blocked: Connection) -> None:
    running = asyncio.create_task(issues.run(deadline=HANG_SECONDS / 4))
    await issues.is_blocked()
    child = _child(psutil.Process())
    child.suspend()
    with pytest.raises(TimeoutError):
        await running
    await asyncio.to_thread(child.wait, END_SECONDS)


async def test_a_stopped_service_ends_the_process_which_rolls_back(issues: Issues, blocked: Connection) -> None:
    running = asyncio.create_task(issues.run())
    await issues.is_blocked()
    child = _child(psutil.Process())
    running.cancel()
    await asyncio.to_thread(child.wait, END_SECONDS)
    await issues.is_blocked(False)
    await blocked.execute("rollback")
    assert await issues.turns() == 0


_PARENT: Final = """
import asyncio, sys
from reporting.issues.process import run_process

asyncio.run(run_process(sys.argv[1], "none"))
"""


async def test_the_process_ends_with_its_parent(issues: Issues, blocked: Connection) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", _PARENT, issues.url)
    await issues.is_blocked()
    child = _child(psutil.Process(parent.pid))
    parent.kill()
    await parent.wait()
    await asyncio.to_thread(child.wait, END_SECONDS)
    await issues.is_blocked(False)


async def test_the_process_logs_why_an_encoder_is_missing(
    issues: Issues, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_folder))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    await issues.reject(0, 3)
    with pytest.raises(IssueProcessFailed, match=r"^exit code 1$"):
        await run_process(issues.url, "minilm", retry=0)
    logged = _logged(capfd)
    assert (logged["event"], logged["error"]) == ("issue_process_failed", "StartError")
    assert "cannot be fetched from Maven Central" in logged["why"]


async def test_an_error_is_logged_without_its_message(
    issues: Issues, blocked: Connection, capfd: pytest.CaptureFixture[str]
) -> None:
    running = asyncio.create_task(issues.run())
    await issues.is_blocked()
    await issues.pool.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and wait_event_type = 'Lock'"
    )
    with pytest.raises(IssueProcessFailed, match=r"^exit code 1$"):
        await running
    assert _logged(capfd).keys() == {"part", "event", "level", "timestamp", "error", "where"}


def _logged(capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    logged: dict[str, Any] = json.loads(lines[-1])
    return logged


async def test_the_service_runs_the_process_if_there_is_work(postgres_url: str) -> None:
    async with running_stack(postgres_url) as stack:
        parts = stack.stack.services["reporting"].parts
        await parts.catch_up_with_issues()
        issues = Issues(parts.settings.database_url, parts.pool)
        await issues.reject(0, 3)
        running = asyncio.create_task(parts.catch_up_with_issues())
        await issues.has_turns(3)
        child = _child(psutil.Process())
        running.cancel()
        await asyncio.to_thread(child.wait, END_SECONDS)
