"""A database that is lost while `up` starts or serves: the run ends with a sentence, or waits."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.command import (
    COMMAND,
    IMPATIENT,
    IMPATIENT_SECONDS,
    children_of,
    is_postgres,
    line_with,
    starting,
    state_folder,
)
from tests.support.databases import server_folder

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are looked up in /proc")
LOST = f"has not answered for {IMPATIENT_SECONDS} s: the services did not start."


@pytest.mark.parametrize("lost_by", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
async def test_a_batch_run_ends_with_a_sentence(lost_by: signal.Signals) -> None:
    with server_folder() as folder:
        async with (
            EmbeddedPostgres(Path(folder) / "data") as own,
            starting("--exit", database=own.url, command=IMPATIENT) as (process, _),
        ):
            assert own.pid is not None
            lost = [own.pid, *children_of(own.pid)]
            try:
                for pid in lost:
                    os.kill(pid, lost_by)
                async with asyncio.timeout(90):
                    out, err = await process.communicate()
            finally:
                # The server last: until it continues, a backend that has ended keeps its id.
                for pid in reversed(lost) if lost_by == signal.SIGSTOP else ():
                    os.kill(pid, signal.SIGCONT)
    last = err.decode().strip().splitlines()[-1]
    assert last.startswith("The database at postgresql://"), err.decode()
    assert last.endswith(LOST)
    assert (process.returncode, out) == (3, b"")
    assert "Traceback" not in err.decode()


async def test_a_serving_run_waits_and_starts_once_its_own_database_is_back() -> None:
    with server_folder() as folder:
        data = Path(folder) / "data"
        async with (
            EmbeddedPostgres(data) as first,
            starting(database=first.url) as (process, _),
        ):
            assert process.stderr is not None
            async with asyncio.timeout(120):
                await first.stop()
                # The first error of the stopping server decides the words: the stop, or a closed connection.
                await line_with(process.stderr, "Waiting")
                async with EmbeddedPostgres(data):
                    await line_with(process.stderr, "Serving")
                    process.terminate()
                    assert "Traceback" not in (await process.communicate())[1].decode()
    assert process.returncode == 0


async def test_a_serving_run_ends_with_a_sentence_when_its_database_ends() -> None:
    async with state_folder() as state:
        process = await asyncio.create_subprocess_exec(
            COMMAND, "up", "--port", "0", "--state", str(state), stdout=PIPE, stderr=PIPE
        )
        assert process.stderr is not None
        async with asyncio.timeout(90):
            await line_with(process.stderr, "Serving")
            [server] = [pid for pid in children_of(process.pid) if is_postgres(pid)]
            os.kill(server, signal.SIGKILL)
            err = (await process.communicate())[1].decode()
    assert err.strip().splitlines()[-1] == ("The database that this run started has ended: start the run again."), err
    assert process.returncode == 1
    assert "Traceback" not in err
