"""The columns `said_at`: the time in a version, as `version_of` writes it."""

from __future__ import annotations

from types import ModuleType

import pytest

import inference.service
import reporting.service
from contracts.chat import ChatMessageIngested, ChatMessageReplyIngested
from contracts.versions import version_of
from servicekit.db.pools import open_pool
from tests.support.databases import SCHEMAS
from tests.support.filled_rows import insert
from tests.support.reporting_events import message, reply

LAST = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""
TABLES = ((inference.service, "messages"), (reporting.service, "messages"))
"""Tables with the column."""


@pytest.mark.parametrize(("service", "table"), TABLES, ids=lambda one: getattr(one, "__package__", one))
async def test_the_column_has_the_time_of_the_version_that_is_kept(
    own_database: str, service: ModuleType, table: str
) -> None:
    events: list[ChatMessageIngested | ChatMessageReplyIngested] = [
        message("m").model_copy(update={"occurred_at": at}) for at in (0, 255, 2**52 + 1, LAST)
    ]
    events.append(reply("m", "No.", at=1))
    versions = {version_of(one): one.occurred_at for one in events}
    schema = service.__package__ or ""
    pool = await open_pool(own_database, schema, SCHEMAS[schema], size=1)
    try:
        for version in versions:
            await insert(pool, table, {"version": version})
        found = await pool.fetch(f"select version, said_at from {table}")
        assert {row["version"]: row["said_at"] for row in found} == versions
        last = version_of(events[3])
        await pool.execute(f"update {table} set version = $1", last)
        assert await pool.fetchval(f"select array_agg(distinct said_at) from {table}") == [LAST]
    finally:
        await pool.close()
