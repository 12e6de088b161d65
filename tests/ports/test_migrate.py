"""The command `migrate` brings every service's schema to its newest version, once."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from servicekit.errors import StartError
from standalone.operations.migrate import migrate_all

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
