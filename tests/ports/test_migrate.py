"""The command `migrate`: creates every service's tables in an empty database, and refuses those of another version."""

from __future__ import annotations

import asyncpg
import pytest

from servicekit.db.pools import open_pool
from servicekit.errors import StartError
from standalone.operations.migrate import migrate_all
from tests.support.databases import SCHEMA_FILES

REFUSED = "The tables of inference were created by another version of this program, which cannot be upgraded: export "


def unheard(_: str) -> None:
    pass


async def test_migrate_creates_the_tables_of_every_service_once(own_database: str) -> None:
    assert await migrate_all(own_database, say=unheard) == dict.fromkeys(SCHEMA_FILES, True)
    assert await migrate_all(own_database, say=unheard) == dict.fromkeys(SCHEMA_FILES, False)


async def test_migrate_creates_the_schema_that_is_missing(own_database: str) -> None:
    await migrate_all(own_database, say=unheard)
    connection = await asyncpg.connect(own_database)
    await connection.execute("drop schema chat_bridge cascade")
    await connection.close()
    assert await migrate_all(own_database, say=unheard) == {name: name == "chat_bridge" for name in SCHEMA_FILES}


async def test_migrate_restricts_readers_to_their_tenant(own_database: str) -> None:
    await migrate_all(own_database, say=unheard)
    connection = await asyncpg.connect(own_database)
    secured = await connection.fetch("select distinct schemaname from pg_policies order by 1")
    await connection.close()
    assert [row[0] for row in secured] == ["feedback", "inference", "reporting"]


@pytest.mark.parametrize(
    "change",
    [
        "update schema_version set version = 'another'",
        "delete from schema_version",
        "drop table schema_version",
    ],
)
async def test_tables_of_another_version_are_refused_and_left_alone(own_database: str, change: str) -> None:
    await (await open_pool(own_database, "inference", SCHEMA_FILES["inference"], size=1)).close()
    connection = await asyncpg.connect(own_database, server_settings={"search_path": "inference"})
    tables = "select array_agg(relname order by oid) from pg_class where relnamespace = 'inference'::regnamespace"
    try:
        await connection.execute(change)
        before = await connection.fetchval(tables)
        with pytest.raises(StartError, match=REFUSED):
            await open_pool(own_database, "inference", SCHEMA_FILES["inference"], size=1)
        assert await connection.fetchval(tables) == before
    finally:
        await connection.close()
