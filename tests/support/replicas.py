"""A primary PostgreSQL with a streaming replica."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from standalone.embedded import postgres
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.embedded.postgres_home import find_home, hand_over
from tests.support.databases import server_folder

REPLICA = "walreceiver"


@dataclass
class Pair:
    """A primary with one streaming replica."""

    folder: Path
    primary: EmbeddedPostgres
    replica: EmbeddedPostgres
    urls: tuple[str, str]

    async def wait_for(self, level: str) -> None:
        """Let a commit wait for the replica, as `synchronous_commit` = `level` defines."""
        connection = await asyncpg.connect(self.primary.url)
        await connection.execute(f"alter system set synchronous_standby_names = '{REPLICA}'")
        await connection.execute(f"alter system set synchronous_commit = '{level}'")
        await connection.execute("select pg_reload_conf()")
        async with asyncio.timeout(60):
            while await connection.fetchval("select sync_state from pg_stat_replication") != "sync":
                await connection.fetchval("select pg_sleep(0.02)")
        await connection.close()

    async def pause_replay(self) -> None:
        """Stop the replica from applying what it receives."""
        await execute(self.replica.url, "select pg_wal_replay_pause()")

    def both(self) -> str:
        """Return a URL with the addresses of both servers, of which clients use the one that accepts writes."""
        found = [parse_qs(urlsplit(server).query) for server in self.urls]
        hosts = ",".join(one["host"][0] for one in found)
        ports = ",".join(one["port"][0] for one in found)
        return f"postgresql://postgres@/postgres?host={hosts}&port={ports}&target_session_attrs=read-write"

    async def fail_over(self) -> str:
        """Kill the primary and promote the replica; return the replica's URL."""
        assert self.primary.pid is not None
        process = self.primary._process
        assert process is not None
        process.kill()
        process.wait()
        await self.primary.stop()
        await execute(self.replica.url, "select pg_promote(true, 60)")
        return self.replica.url


@asynccontextmanager
async def pair() -> AsyncIterator[Pair]:
    """Start a primary and a replica. Settings of the command line would override those of a test."""
    with server_folder() as named, pytest.MonkeyPatch.context() as patched:
        patched.delitem(postgres._SETTINGS, "synchronous_commit")
        folder = Path(named)
        async with EmbeddedPostgres(folder / "primary") as primary:
            base = folder_for(folder, "replica")
            await pg("pg_basebackup", primary.url, "-D", base, "--checkpoint=fast", "--wal-method=stream")
            for lock in base.glob(".s.PGSQL.*"):
                lock.unlink()
            asked = parse_qs(urlsplit(primary.url).query)
            with (base / "postgresql.auto.conf").open("a") as settings:
                settings.write(f"primary_conninfo = 'host={asked['host'][0]} port={asked['port'][0]} user=postgres'\n")
            (base / "standby.signal").touch()
            for file in (base / "standby.signal", base / "postgresql.auto.conf"):
                hand_over(file, find_home(base).account)
            async with EmbeddedPostgres(base) as replica:
                yield Pair(folder, primary, replica, (primary.url, replica.url))


async def execute(url: str, *statements: str) -> None:
    """Execute statements, each in a transaction of its own."""
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def folder_for(parent: Path, name: str) -> Path:
    """Return a new folder in `parent` that PostgreSQL's user owns."""
    folder = parent / name
    folder.mkdir()
    hand_over(folder, find_home(parent / "unused").account)
    return folder


async def pg(program: str, url: str, *arguments: str | Path) -> str:
    """Run a program of PostgreSQL 18 against the server at `url`; return its output. Fails unless it ends with 0."""
    asked = parse_qs(urlsplit(url).query)
    home = find_home(Path(asked["host"][0]))
    process = await asyncio.create_subprocess_exec(
        *(home.programs / program, "-h", asked["host"][0], "-p", asked["port"][0], "-U", "postgres"),
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        user=home.account.uid if home.account else None,
        group=home.account.gid if home.account else None,
        extra_groups=[] if home.account else None,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, f"{program}: {err.decode()}"
    return out.decode()
