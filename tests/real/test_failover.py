"""A streaming replica of PostgreSQL is promoted after the primary died: nothing that was acknowledged is missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from standalone.embedded import postgres
from standalone.embedded.local_kafka import LocalKafka
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.embedded.postgres_home import find_home, hand_over
from tests.support.pg_programs import folder_for, pg
from tests.support.recovery import Installation, assert_recovered, events
from tests.support.server_folders import server_folder

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

EARLY, LATE = events(0, 30), events(30, 50, takes_back=True)
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
        await _execute(self.replica.url, "select pg_wal_replay_pause()")

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
        await _execute(self.replica.url, "select pg_promote(true, 60)")
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


async def test_nothing_acknowledged_is_lost_with_remote_apply(tmp_path: Path) -> None:
    async with pair() as servers, LocalKafka(tmp_path / "kafka") as kafka:
        await servers.wait_for("remote_apply")
        place = Installation(servers.folder, kafka, servers.primary.url)
        await place.process(EARLY)
        await place.process(LATE)
        before = await place.ledger()
        place.database_url = await servers.fail_over()
        # At once: the groups have committed everything, so nothing would be read again.
        await assert_recovered(place, before, EARLY + LATE)
        # With both addresses the services find the new primary by themselves.
        place.database_url = servers.both()
        await place.process(events(50, 55))
        assert (await place.command("verify-ledger"))["first_difference"] is None


async def test_a_commit_waits_while_the_replica_does_not_apply(tmp_path: Path) -> None:
    async with pair() as servers:
        await servers.wait_for("remote_apply")
        await servers.pause_replay()
        connection = await asyncpg.connect(servers.primary.url)
        with pytest.raises(TimeoutError):
            await connection.execute("create table waits ()", timeout=2)
        await _execute(servers.replica.url, "select pg_wal_replay_resume()")
        connection.terminate()


async def test_an_asynchronous_replica_lacks_commits_and_reading_again_brings_them_back(tmp_path: Path) -> None:
    async with pair() as servers, LocalKafka(tmp_path / "kafka") as kafka:
        place = Installation(servers.folder, kafka, servers.primary.url)
        await place.process(EARLY)
        await _caught_up(servers)
        await _execute(servers.primary.url, "select pg_terminate_backend(pid) from pg_stat_replication")
        await _execute(servers.replica.url, "alter system set primary_conninfo = ''", "select pg_reload_conf()")
        await place.process(LATE)
        before = await place.ledger()
        place.database_url = await servers.fail_over()
        facts = await place.command("verify-ledger", code=1)
        assert facts["extra"] + facts["differing"] > 0, "the replica had everything: the test shows nothing"
        await place.command("rewind", "--to", "earliest", store=False)
        await place.process()
        await place.command("republish", "--restored")
        await place.rebuild_reports()
        await assert_recovered(place, before, EARLY + LATE)


async def _caught_up(servers: Pair) -> None:
    connection = await asyncpg.connect(servers.primary.url)
    behind = "select pg_current_wal_lsn() - replay_lsn from pg_stat_replication"
    async with asyncio.timeout(60):
        while (left := await connection.fetchval(behind)) is None or left > 0:
            await connection.fetchval("select pg_sleep(0.02)")
    await connection.close()


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
