"""The procedures of docs/backup.md for a database that is restored to another location."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from standalone.embedded import postgres
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.embedded.postgres_home import find_home, hand_over
from tests.support.databases import server_folder
from tests.support.local_kafka import LocalKafka
from tests.support.recovery import ALL_TIME, Installation, assert_recovered, events, wait_for_primary
from tests.support.replicas import folder_for, pg

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

EARLY, LATE = events(0, 40), events(40, 70, takes_back=True)
AFTER = events(70, 80)
ROLE = "create role agent_feedback_reader nologin; grant agent_feedback_reader to postgres"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Installation]:
    """Yield an installation whose database archives its write-ahead log in the folder `archive`."""
    with server_folder() as named, pytest.MonkeyPatch.context() as patched:
        folder = Path(named)
        archive = folder_for(folder, "archive")
        patched.setitem(postgres._SETTINGS, "archive_mode", "on")
        patched.setitem(postgres._SETTINGS, "archive_command", f"test ! -f {archive}/%f && cp %p {archive}/%f")
        async with LocalKafka(tmp_path / "kafka") as kafka, EmbeddedPostgres(folder / "first") as server:
            yield Installation(folder, kafka, server.url)


async def test_a_dump_restored_elsewhere_catches_up_from_the_log(place: Installation) -> None:
    await place.process(EARLY)
    began = datetime.now(UTC)
    dump = folder_for(place.folder, "dump") / "agent_feedback.dump"
    await pg("pg_dump", place.database_url, "-Fc", "-f", dump, "postgres")
    await place.process(LATE)
    before = await place.ledger()

    async with EmbeddedPostgres(place.folder / "second") as server:
        connection = await asyncpg.connect(server.url)
        await connection.execute("create database restored")
        await connection.execute(ROLE)
        await connection.close()
        await pg("pg_restore", server.url, "--exit-on-error", "-d", "restored", dump)
        place.database_url = server.url.replace("/postgres?", "/restored?")
        await _accepted_by_consumers_without_the_log(place)
        again = await place.command("ledger", "rewind", "--to", (began - timedelta(seconds=2)).isoformat(), store=False)
        assert again["feedback"] > 0
        await place.process()
        await place.command("ledger", "republish", "--restored")
        await place.rebuild_reports()
        await assert_recovered(place, before, EARLY + LATE)
        await place.process(AFTER)
        assert (await place.command("ledger", "verify"))["first_difference"] is None


async def test_recovery_to_the_moment_before_a_mistake(place: Installation) -> None:
    await place.process(EARLY)
    base = folder_for(place.folder, "base")
    await pg("pg_basebackup", place.database_url, "-D", base, "--checkpoint=fast", "--wal-method=none")
    await place.process(LATE)
    before = await place.ledger()
    connection = await asyncpg.connect(place.database_url)
    moment = await connection.fetchval("select clock_timestamp()")
    await connection.execute("drop schema feedback cascade")
    await connection.execute("select pg_switch_wal()")
    await _archived(connection)
    await connection.close()

    with (base / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"restore_command = 'cp {place.folder}/archive/%f %p'\n")
        settings.write(f"recovery_target_time = '{moment.isoformat()}'\nrecovery_target_action = promote\n")
    (base / "recovery.signal").touch()
    for lock in base.glob(".s.PGSQL.*"):  # this server's socket is in its data directory
        lock.unlink()
    for file in (base / "recovery.signal", base / "postgresql.auto.conf"):
        hand_over(file, find_home(base).account)
    async with EmbeddedPostgres(base) as server:
        await wait_for_primary(server.url)
        place.database_url = server.url
        await place.command("ledger", "rewind", "--to", (moment - timedelta(minutes=5)).isoformat(), store=False)
        await place.process(AFTER)
        await place.command("ledger", "republish", "--restored")
        await place.rebuild_reports()
        ledger = await place.ledger()
        new = {id_ for id_, event in ledger.highest.items() if int(event.conversation_id[1:]) >= 70}
        assert new
        before.highest |= {id_: ledger.highest[id_] for id_ in new}
        await assert_recovered(place, before, EARLY + LATE + AFTER)


async def test_a_store_without_a_backup_is_made_again_from_the_whole_log(place: Installation) -> None:
    await place.process(EARLY)
    await place.process(LATE)
    before = await place.ledger()
    async with EmbeddedPostgres(place.folder / "empty") as server:
        place.database_url = server.url
        await place.command("ledger", "rewind", "--to", ALL_TIME, store=False)
        await place.process()
        await place.command("ledger", "republish", "--restored")
        await place.rebuild_reports()
        await assert_recovered(place, before, EARLY + LATE)


async def _accepted_by_consumers_without_the_log(place: Installation) -> None:
    """Assert that consumers accept the store as it is in the backup, had the log lost everything since."""
    taken_back = len(EARLY) // 4 // 2
    await place.command("ledger", "republish")
    assert (await place.command("ledger", "verify", code=1))["differing"] == taken_back
    assert (await place.command("ledger", "republish", "--restored"))["raised"] == taken_back
    facts = await place.command("ledger", "verify", code=1)
    assert (facts["differing"], facts["stale"], facts["missing"]) == (0, 0, 0)
    assert facts["extra"] == facts["feedbacks"] - facts["stored"] > 0


async def _archived(connection: asyncpg.Connection) -> None:
    """Wait until the server has archived the segment with everything written so far."""
    wanted = await connection.fetchval("select pg_walfile_name(pg_current_wal_lsn() - 1)")
    while (await connection.fetchval("select last_archived_wal from pg_stat_archiver") or "") < wanted:
        await connection.fetchval("select pg_sleep(0.05)")
