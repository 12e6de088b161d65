"""A streaming replica of PostgreSQL is promoted after the primary died: nothing that was acknowledged is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from tests.support.local_kafka import LocalKafka
from tests.support.recovery import Installation, assert_recovered, events
from tests.support.replicas import Pair, execute, pair

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

EARLY, LATE = events(0, 30), events(30, 50, takes_back=True)


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
        assert (await place.command("ledger", "verify"))["first_difference"] is None


async def test_a_commit_waits_while_the_replica_does_not_apply(tmp_path: Path) -> None:
    async with pair() as servers:
        await servers.wait_for("remote_apply")
        await servers.pause_replay()
        connection = await asyncpg.connect(servers.primary.url)
        with pytest.raises(TimeoutError):
            await connection.execute("create table waits ()", timeout=2)
        await execute(servers.replica.url, "select pg_wal_replay_resume()")
        connection.terminate()


async def test_an_asynchronous_replica_lacks_commits_and_reading_again_brings_them_back(tmp_path: Path) -> None:
    async with pair() as servers, LocalKafka(tmp_path / "kafka") as kafka:
        place = Installation(servers.folder, kafka, servers.primary.url)
        await place.process(EARLY)
        await _caught_up(servers)
        await execute(servers.primary.url, "select pg_terminate_backend(pid) from pg_stat_replication")
        await execute(servers.replica.url, "alter system set primary_conninfo = ''", "select pg_reload_conf()")
        await place.process(LATE)
        before = await place.ledger()
        place.database_url = await servers.fail_over()
        facts = await place.command("ledger", "verify", code=1)
        assert facts["extra"] + facts["differing"] > 0, "the replica had everything: the test shows nothing"
        await place.command("ledger", "rewind", "--to", "earliest", store=False)
        await place.process()
        await place.command("ledger", "republish", "--restored")
        await place.rebuild_reports()
        await assert_recovered(place, before, EARLY + LATE)


async def _caught_up(servers: Pair) -> None:
    connection = await asyncpg.connect(servers.primary.url)
    behind = "select pg_current_wal_lsn() - replay_lsn from pg_stat_replication"
    async with asyncio.timeout(60):
        while (left := await connection.fetchval(behind)) is None or left > 0:
            await connection.fetchval("select pg_sleep(0.02)")
    await connection.close()
