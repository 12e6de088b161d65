"""Runs of the command line as a user starts it, and access to the state that it leaves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from typer.testing import CliRunner

from standalone.cli.app import app
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.databases import server_folder
from tests.support.recount import Said
from tests.support.waits import PATIENCE_SECONDS

COMMAND = Path(sys.executable).with_name("agent-feedback")
HANG_SECONDS = 240
"""Limit of a wait for another process, so long that only a process that hangs reaches it on a busy machine."""

IMPATIENT_SECONDS = 8
IMPATIENT = (
    sys.executable,
    "-c",
    f"from standalone import terminal; terminal.ANSWER_SECONDS = {IMPATIENT_SECONDS}.0; "
    "from standalone.__main__ import main; main()",
)
"""The command with a limit of IMPATIENT_SECONDS, instead of 20 s, for a server that does not answer."""


@dataclass(frozen=True)
class Ended:
    """Result of a command-line run."""

    code: int
    out: str
    err: str

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


async def agent_feedback(*arguments: str | Path, within: float = HANG_SECONDS, **environment: str) -> Ended:
    """Run the command to its end as a process of its own, at most `within` seconds."""
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *map(str, arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), within)
    except TimeoutError:
        process.kill()
        out, err = await process.communicate()
        raise AssertionError(f"did not end within {within} s: {err.decode()[-2000:]}") from None
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


def agent_feedback_here(*arguments: str | Path, **environment: str) -> Ended:
    """Run the command to its end in this process, without the second of imports, in a thread without a running loop."""
    with pytest.MonkeyPatch.context() as patched:
        # Else loggers of later tests would keep this run's closed standard error.
        patched.setattr("servicekit.logging.configure_logging", lambda *_, **__: None)
        for name, value in environment.items():
            patched.setenv(name, value)
        ended = CliRunner().invoke(app, [*map(str, arguments)], prog_name="agent-feedback")
    return Ended(ended.exit_code, ended.stdout, ended.stderr)


async def agent_feedback_beside(*arguments: str | Path, **environment: str) -> Ended:
    """Run the command to its end in another thread of this process, beside a stack in the event loop."""
    return await asyncio.to_thread(agent_feedback_here, *arguments, **environment)


@asynccontextmanager
async def state_folder() -> AsyncIterator[Path]:
    """Yield an empty folder that PostgreSQL's own user may enter, even if the tests run as root."""
    with server_folder() as folder:
        yield Path(folder) / "state"


@asynccontextmanager
async def serving(state: Path, *arguments: str, **environment: str) -> AsyncIterator[tuple[str, str]]:
    """Start a run that keeps serving; yield its address and token when it is ready."""
    process = await asyncio.create_subprocess_exec(
        *(str(COMMAND), "up", "--port", "0", "--state", str(state), *arguments),
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(HANG_SECONDS):
            while b"Serving" not in (line := await process.stderr.readline()):
                assert line, "it ended before it served"
        run = json.loads((state / "run.json").read_text())
        yield run["url"], run["token"]
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await process.communicate()


_LOCK = "select pg_advisory_lock(hashtext('agent-feedback inference'))"
_WAITING = "select count(*) from pg_stat_activity where wait_event = 'advisory'"


@asynccontextmanager
async def starting(
    *arguments: str, database: str, command: Sequence[str | Path] = (COMMAND,)
) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncpg.Connection]]:
    """A run of `up` on `database` that waits for the lock of a schema, held by the connection until it is closed."""
    held = await asyncpg.connect(database)
    await held.execute(_LOCK)
    async with state_folder() as state:
        process = await asyncio.create_subprocess_exec(
            *command,
            *("up", *arguments, "--database", database, "--port", "0", "--state", str(state)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(HANG_SECONDS):
                while not await held.fetchval(_WAITING):
                    assert process.returncode is None
                    await asyncio.sleep(0.05)
            yield process, held
        finally:
            held.terminate()
            if process.returncode is None:
                process.kill()
                await process.wait()


async def line_with(stream: asyncio.StreamReader, words: str) -> None:
    """Read lines up to the first that contains `words`."""
    while words not in (line := (await stream.readline()).decode()):
        assert line, f"it ended without saying {words!r}"


def children_of(pid: int) -> list[int]:
    """Return the processes that any thread of the process has started."""
    found = (task.joinpath("children").read_text().split() for task in Path(f"/proc/{pid}/task").iterdir())
    return [int(child) for children in found for child in children]


def is_postgres(pid: int) -> bool:
    return "postgres" in Path(f"/proc/{pid}/comm").read_text()


async def said_in(state: Path) -> set[Said]:
    """Return the live records of people in the state's feedback store."""
    async with EmbeddedPostgres(state / "postgres") as server:
        return await said_at(server.url)


async def said_at(url: str) -> set[Said]:
    """Return the live records of people in the feedback store at `url`."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "select tenant, conversation_id, feedback_type, user_id, source_id, slot -> 'payload' ->> 'reaction' "
            "from feedback.feedback cross join lateral (select value as slot from jsonb_each(slots) "
            "where (value ->> 'present')::boolean order by value -> 'stamp' desc limit 1) s where origin = 'user'"
        )
    finally:
        await connection.close()
    return {Said(*row) for row in rows}
