"""Starts on a schema of another version: older than 0.1.0, newer and compatible, newer and incompatible."""

from __future__ import annotations

import asyncio
from pathlib import Path
from shutil import copytree

import asyncpg
import pytest

import chat_bridge.service
import feedback.service
import inference.service
import reporting.service
from servicekit.db.migrations import migrate
from tests.support.command import Ended, agent_feedback, agent_feedback_here, state_folder
from tests.support.running_stack import message, running_stack
from tests.support.server_folders import server_folder

FOLDERS = {
    service.PROGRAM.name: Path(str(service.__file__)).parent / "migrations"
    for service in (chat_bridge.service, feedback.service, inference.service, reporting.service)
}
SERVICES = pytest.mark.parametrize("schema", FOLDERS)


def command(state: str | Path, database_url: str) -> tuple[str | Path, ...]:
    return "up", "--exit", "--json", "--port", "0", "--state", state, "--database", database_url


def start(database_url: str) -> Ended:
    with server_folder() as folder:
        return agent_feedback_here(*command(f"{folder}/state", database_url))


OLDER = """
create schema {schema};
create table {schema}.migrations (name text primary key, applied_at timestamptz default now(), checksum text);
insert into {schema}.migrations values ('0001_older.sql'), ('0002_older.sql');
"""


async def executed(database_url: str, sql: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def tables(database_url: str, schema: str) -> list[str]:
    connection = await asyncpg.connect(database_url)
    try:
        found = await connection.fetch("select relname from pg_class where relnamespace = $1::regnamespace", schema)
    finally:
        await connection.close()
    return sorted(row["relname"] for row in found)


async def take_later_migration(database_url: str, schema: str, folder: Path, compatible_from: int) -> str:
    """Migrate `schema` as the next release would; return the later migration's name."""
    copytree(FOLDERS[schema], folder)
    number = len(list(folder.glob("*.sql"))) + 1
    name = f"{number:04}_later.sql"
    (folder / name).write_text(f"-- compatible_from: {compatible_from:04}\ncreate table later (n int);\n")
    connection = await asyncpg.connect(database_url, server_settings={"search_path": f"{schema},public"})
    try:
        await migrate(connection, schema, folder)
    finally:
        await connection.close()
    return name


@SERVICES
def test_a_schema_from_before_the_first_release_is_left_alone(own_database: str, schema: str) -> None:
    asyncio.run(executed(own_database, OLDER.format(schema=schema)))
    held = asyncio.run(tables(own_database, schema))
    ended = start(own_database)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.strip().splitlines()[-1] == (
        f"The schema {schema} was made by a version before 0.1.0, which cannot be upgraded: export its data with "
        "that version, or start over with an empty database or state folder."
    )
    assert "Traceback" not in ended.err
    assert asyncio.run(tables(own_database, schema)) == held


@SERVICES
def test_a_newer_schema_that_excludes_this_version_is_not_consumed_into(
    own_database: str, schema: str, tmp_path: Path
) -> None:
    number = len(list(FOLDERS[schema].glob("*.sql"))) + 1
    asyncio.run(take_later_migration(own_database, schema, tmp_path / "later", compatible_from=number))
    ended = start(own_database)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.strip().splitlines()[-1] == (
        f"The schema {schema} is at version {number}, which programs below version {number} cannot use, and this "
        f"program is at {number - 1}: start a later release."
    )
    assert "Traceback" not in ended.err


async def test_a_newer_schema_that_this_version_may_read_is_used(own_database: str, tmp_path: Path) -> None:
    later = [
        await take_later_migration(own_database, schema, tmp_path / schema, compatible_from=1) for schema in FOLDERS
    ]
    async with state_folder() as state:
        ended = await agent_feedback(*command(state, own_database))
    assert ended.code == 0, ended.err
    connection = await asyncpg.connect(own_database)
    try:
        for schema, name in zip(FOLDERS, later, strict=True):
            assert await connection.fetchval(f"select max(name) from {schema}.migrations") == name
    finally:
        await connection.close()


async def test_a_running_service_that_the_schema_excludes_leaves_its_groups(postgres_url: str, tmp_path: Path) -> None:
    """A statement that fails on the newer schema is not a bug of its record."""
    async with running_stack(postgres_url) as running:
        number = len(list(FOLDERS["chat_bridge"].glob("*.sql"))) + 1
        await take_later_migration(running.database_url, "chat_bridge", tmp_path / "later", compatible_from=number)
        connection = await asyncpg.connect(running.database_url)
        await connection.execute("alter table chat_bridge.messages drop column truncated")
        await connection.close()
        await running.publish(*(message(str(one), f"c{one}") for one in range(20)))
        async with asyncio.timeout(30):
            await running.stack.services["chat_bridge"].left.wait()
        assert "this program is at" in (await running.stack.not_ready() or "")
        assert [one.outcome for one in running.seen if one.group == "chat_bridge"] == []
