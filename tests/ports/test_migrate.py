"""The command `migrate` brings every service's schema to its newest version, once."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from servicekit.db.migrations import migrate
from servicekit.db.row_security import secure
from servicekit.db.sql import SQL
from servicekit.errors import StartError
from standalone.operations.migrate import migrate_all
from tests.support.waits import PATIENCE_SECONDS

SERVICES = Path(__file__).parents[2] / "services"
FILES = {
    name: sorted(file.name for file in (SERVICES / name / "migrations").glob("*.sql"))
    for name in ("chat_bridge", "feedback", "inference", "reporting")
}


def unheard(_: str) -> None:
    pass


async def test_migrate_applies_every_file_of_every_service_once(own_database: str) -> None:
    assert await migrate_all(own_database, say=unheard) == FILES
    assert await migrate_all(own_database, say=unheard) == {name: [] for name in FILES}


async def test_migrate_applies_what_a_schema_lacks(own_database: str) -> None:
    await migrate_all(own_database, say=unheard)
    connection = await asyncpg.connect(own_database)
    newest = FILES["chat_bridge"][-1]
    await connection.execute("drop schema chat_bridge cascade")
    await connection.close()
    made = await migrate_all(own_database, say=unheard)
    assert made == {name: [] for name in FILES} | {"chat_bridge": FILES["chat_bridge"]}
    assert made["chat_bridge"][-1] == newest


async def test_migrate_restricts_readers_to_their_tenant(own_database: str) -> None:
    await migrate_all(own_database, say=unheard)
    connection = await asyncpg.connect(own_database)
    secured = await connection.fetch("select distinct schemaname from pg_policies order by 1")
    await connection.close()
    assert [row[0] for row in secured] == ["feedback", "inference", "reporting"]


async def test_migrate_refuses_a_schema_of_a_later_release(own_database: str) -> None:
    await migrate_all(own_database, say=unheard)
    connection = await asyncpg.connect(own_database)
    await connection.execute(
        "insert into inference.migrations (name, checksum, compatible_from) values ('9999_later.sql', '', 9999)"
    )
    await connection.close()
    with pytest.raises(StartError, match="The schema inference is at version 9999"):
        await migrate_all(own_database, say=unheard)


INDEXES = {"messages_terms", "feedbacks_terms", "replies_terms"}
BUILDS = next(file for file in FILES["reporting"] if file.endswith("_search_indexes.sql"))
MESSAGE = """
insert into reporting.messages (tenant, project, message_id, conversation_id, sender_type, sender_id, content,
    occurred_at, sequence, version)
values ('acme', 'shop', $1, 'c', 'human', 'ann', 'word', 1, -1, '\\x00')
"""


@pytest.fixture
async def before_indexes(own_database: str, tmp_path: Path) -> AsyncIterator[str]:
    """Yield the URL of a database whose schema `reporting` lacks the indexes of words and all later migrations."""
    for file in FILES["reporting"][: FILES["reporting"].index(BUILDS)]:
        shutil.copy(SERVICES / "reporting" / "migrations" / file, tmp_path)
    async with connected(own_database) as connection:
        await migrate(connection, "reporting", tmp_path)
    yield own_database


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url, server_settings={"search_path": "reporting,public"})
    try:
        yield connection
    finally:
        await connection.close()


async def to_newest(url: str) -> tuple[str, ...]:
    async with connected(url) as connection:
        return await migrate(connection, "reporting", SERVICES / "reporting" / "migrations")


async def valid_indexes(connection: asyncpg.Connection) -> set[str]:
    rows = await connection.fetch("select indexrelid::regclass::text as name from pg_index where indisvalid")
    return {row["name"] for row in rows} & INDEXES


async def build_has_begun(connection: asyncpg.Connection) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await connection.fetchval("select exists (select from pg_stat_progress_create_index)"):
            await asyncio.sleep(0.05)


async def test_writers_go_on_while_indexes_of_words_are_built(before_indexes: str) -> None:
    async with connected(before_indexes) as slow, connected(before_indexes) as writer:
        open_write = slow.transaction()
        await open_write.start()
        await slow.execute(MESSAGE, "m1")
        building = asyncio.create_task(to_newest(before_indexes))
        await build_has_begun(writer)
        await writer.execute("set lock_timeout = '5s'")
        await writer.execute(MESSAGE, "m2")
        await open_write.commit()
        assert BUILDS in await building
        assert await valid_indexes(writer) == INDEXES


async def test_an_interrupted_build_is_repeated(before_indexes: str) -> None:
    async with connected(before_indexes) as slow, connected(before_indexes) as other:
        async with slow.transaction():
            await slow.execute(MESSAGE, "m1")
            building = asyncio.create_task(to_newest(before_indexes))
            await build_has_begun(other)
            await other.execute("select pg_terminate_backend(pid) from pg_stat_progress_create_index")
            with pytest.raises(asyncpg.PostgresError):
                await building
        assert await other.fetchval("select count(*) from pg_index where not indisvalid") == 1
        assert BUILDS in await to_newest(before_indexes)
        assert await valid_indexes(other) == INDEXES


async def test_two_processes_build_the_indexes_once(before_indexes: str) -> None:
    made = await asyncio.gather(*(to_newest(before_indexes) for _ in range(3)))
    assert sorted(map(len, made)) == [0, 0, len(FILES["reporting"]) - FILES["reporting"].index(BUILDS)]


async def test_a_replaced_view_keeps_the_rights_of_its_caller(before_indexes: str) -> None:
    async with connected(before_indexes) as connection:
        await secure(connection, "reporting")
        assert "0029_tenant_in_view.sql" in await to_newest(before_indexes)
        assert await connection.fetch(*SQL.unsecured_views(schema="reporting")) == []


REJECTION = """
insert into rejection_changes (tenant, project, conversation_id, turn_id) values ('acme', 'shop', 'c', 't1')
"""


async def test_a_change_of_keys_locks_one_table_at_a_time(before_indexes: str) -> None:
    awaited = "select exists (select from pg_locks where not granted and relation = 'suspect_changes'::regclass)"
    async with connected(before_indexes) as slow, connected(before_indexes) as writer:
        async with slow.transaction():
            await slow.execute("lock table suspect_changes in row exclusive mode")
            changing = asyncio.create_task(to_newest(before_indexes))
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await writer.fetchval(awaited):
                    await asyncio.sleep(0.05)
            await writer.execute("set lock_timeout = '5s'")
            await writer.execute(REJECTION)
        await changing
        key = "select pg_get_constraintdef(oid) from pg_constraint where conname = 'suspect_changes_pkey'"
        assert await writer.fetchval(key) == "PRIMARY KEY (id, tenant)"


async def test_readers_of_views_go_on_while_columns_are_added(before_indexes: str) -> None:
    awaited = "select exists (select from pg_locks where not granted and relation = 'replies'::regclass)"
    async with connected(before_indexes) as reader, connected(before_indexes) as other:
        async with reader.transaction():
            await reader.execute("select from live_replies")
            adding = asyncio.create_task(to_newest(before_indexes))
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await other.fetchval(awaited):
                    await asyncio.sleep(0.05)
            await reader.execute("set local lock_timeout = '5s'")
            await reader.execute("select from effective_or_overruled")
        assert "0031_answer_columns.sql" in await adding
