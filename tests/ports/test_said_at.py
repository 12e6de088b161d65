"""The columns `said_at`: the time in a version, as `version_of` writes it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import feedback.service
import inference.service
import reporting.service
from contracts.chat import ChatMessageIngested, ChatMessageReplyIngested
from contracts.versions import version_of
from servicekit.db.migrations import read_migrations
from servicekit.db.pools import open_pool
from tests.support.filled_rows import insert
from tests.support.reporting_events import message, reply

LAST = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""
TABLES = (
    (feedback.service, "people", 9),
    (inference.service, "messages", 8),
    (reporting.service, "messages", 10),
)
"""Tables with a version, and the migration that adds the column."""


@pytest.mark.parametrize(("service", "table", "number"), TABLES, ids=lambda one: getattr(one, "__package__", one))
async def test_the_column_has_the_time_of_the_version_that_is_kept(
    own_database: str, tmp_path: Path, service: ModuleType, table: str, number: int
) -> None:
    migrations = Path(service.__file__ or "").parent / "migrations"
    for one in read_migrations(migrations):
        if one.number < number:
            (tmp_path / one.name).write_text(one.text)
    events: list[ChatMessageIngested | ChatMessageReplyIngested] = [
        message("m").model_copy(update={"occurred_at": at}) for at in (0, 255, 2**52 + 1, LAST)
    ]
    events.append(reply("m", "No.", at=1))
    versions = {version_of(one): one.occurred_at for one in events}
    schema = service.__package__ or ""
    before = await open_pool(own_database, schema, tmp_path, size=1)
    try:
        for version in versions:
            await insert(before, table, {"version": version})
    finally:
        await before.close()
    pool = await open_pool(own_database, schema, migrations, size=1)
    try:
        found = await pool.fetch(f"select version, said_at from {table}")
        assert {row["version"]: row["said_at"] for row in found} == versions
        last = version_of(events[3])
        await pool.execute(f"update {table} set version = $1", last)
        assert await pool.fetchval(f"select array_agg(distinct said_at) from {table}") == [LAST]
    finally:
        await pool.close()
