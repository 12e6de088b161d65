"""The embedded PostgreSQL starts anywhere, keeps committed data, and ends with the process that started it."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from standalone.embedded import postgres_home
from standalone.embedded.postgres import EmbeddedPostgres, EmbeddedPostgresError, clear_if_stale
from tests.support.databases import server_folder
from tests.support.waits import PATIENCE_SECONDS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the package's own launcher is used"),
    pytest.mark.timeout(90),
]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder that PostgreSQL's user can enter; under root, pytest's own folders are closed to it."""
    with server_folder() as folder:
        monkeypatch.setattr(postgres_home, "SYSTEM_STATE", Path(folder) / "system")
        yield Path(folder)


async def execute(server: EmbeddedPostgres, *statements: str) -> None:
    connection = await asyncpg.connect(server.url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def fetch(server: EmbeddedPostgres, query: str) -> object:
    connection = await asyncpg.connect(server.url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_it_is_durable_and_has_no_network_port(state: Path) -> None:
    wanted = {"fsync": "on", "synchronous_commit": "on", "data_checksums": "on", "listen_addresses": "", "jit": "off"}
    wanted |= {"port": "5432"}  # psql finds its socket without a port
    async with EmbeddedPostgres(state / "postgres") as server:
        assert {name: await fetch(server, f"SHOW {name}") for name in wanted} == wanted
        await execute(server, "CREATE EXTENSION vector")
        assert server.pid is not None
        assert os.getsid(server.pid) == server.pid, "Ctrl-C in our terminal must not reach it"


async def test_a_second_run_on_the_directory_is_refused(state: Path) -> None:
    async with EmbeddedPostgres(state / "postgres") as first:
        with pytest.raises(EmbeddedPostgresError, match="Another run of agent-feedback uses"):
            await EmbeddedPostgres(state / "postgres").start()
        assert await fetch(first, "SELECT 1") == 1


async def test_a_path_too_long_for_a_socket_gets_a_short_one(state: Path) -> None:
    server = EmbeddedPostgres(state / ("long" * 30) / "a folder, with a comma" / "postgres")
    async with server:
        sockets = Path(server.url.partition("host=")[2].partition("&")[0])
        assert await fetch(server, "SELECT 1") == 1
        assert sockets != server.directory
        assert mode_of(sockets) == 0o700
    assert mode_of(sockets) is None


def mode_of(path: Path) -> int | None:
    return path.stat().st_mode & 0o777 if path.exists() else None


async def test_a_crash_of_the_server_keeps_what_was_committed(state: Path) -> None:
    server = EmbeddedPostgres(state / "postgres")
    await server.start()
    await execute(server, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not server.has_ended:
            await asyncio.sleep(0.01)

    async with server:
        assert not server.has_ended
        assert await fetch(server, "SELECT n FROM kept") == 7


OWNER = """
import asyncio, sys
from pathlib import Path
from standalone.embedded.postgres import EmbeddedPostgres

async def main() -> None:
    server = EmbeddedPostgres(Path(sys.argv[1]))
    await server.start()
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_server_of_a_killed_owner_makes_room_for_the_next(state: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(state / "postgres"), stdout=subprocess.PIPE, env=environment
    )
    assert owner.stdout is not None
    orphan = int(await owner.stdout.readline())
    owner.kill()
    await owner.wait()

    async with EmbeddedPostgres(state / "postgres") as server:
        assert server.pid != orphan
        assert await fetch(server, "SELECT 1") == 1


def test_a_pid_file_stays_while_any_process_works_in_the_directory(tmp_path: Path) -> None:
    file = tmp_path / "postmaster.pid"
    file.write_text(f"{os.getpid()}\n")

    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], cwd=tmp_path, stdin=subprocess.PIPE):
        assert not clear_if_stale(tmp_path)
        assert file.exists()
    assert clear_if_stale(tmp_path)
    assert not file.exists()


async def test_what_postgres_complains_of_is_said(state: Path) -> None:
    server = EmbeddedPostgres(state / "postgres")
    async with server:
        pass
    (server.directory / "PG_VERSION").write_text("12\n")

    with pytest.raises(EmbeddedPostgresError, match=r"did not start on .*: database files are incompatible"):
        await server.start()


async def test_data_in_a_folder_closed_to_the_servers_user_goes_below_the_system_folder(state: Path) -> None:
    said: list[str] = []
    (state / "clone").mkdir(mode=0o700)
    server = EmbeddedPostgres(state / "clone" / "state" / "postgres", said.append)
    async with server:
        await execute(server, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
    assert server.directory.is_relative_to(state / "system")
    assert len(said) == 1
    assert f"data is in {server.directory}" in said[0]

    again = EmbeddedPostgres(state / "clone" / "state" / "postgres", said.append)
    async with again:
        assert again.directory == server.directory
        assert await fetch(again, "SELECT n FROM kept") == 7

    shutil.rmtree(state / "clone" / "state")
    async with again:
        assert await fetch(again, "SELECT to_regclass('kept')") is None, "a removed state folder means a new beginning"


@needs_root
async def test_programs_in_a_folder_closed_to_the_servers_user_are_copied(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, closed = postgres_home._installed_root(), state / "venv"
    for part in (postgres_home._TREE, postgres_home._LIBRARIES):
        shutil.copytree(installed / part, closed / part)
    closed.chmod(0o700)
    monkeypatch.setattr(postgres_home, "_installed_root", lambda: closed)
    said: list[str] = []

    async with EmbeddedPostgres(state / "postgres", said.append) as server:
        await execute(server, "CREATE EXTENSION vector")
    async with server:
        assert await fetch(server, "SELECT 1") == 1

    assert "its programs are in" in said[0]
    assert [path.name[:14] for path in (state / "system").iterdir()] == ["postgresql-18-"]
