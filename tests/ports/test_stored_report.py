"""The report that is read from a database that no service uses."""

from __future__ import annotations

import asyncpg

from standalone.operations.stored_report import report_from_database

NOBODYS = {
    "stored": 0, "cleared": 0, "by_type": {"implicit": 0, "reaction": 0, "explicit": 0, "inferred": 0, "rating": 0},
    "by_reaction": {"ok": 0, "not_ok": 0, "neutral": 0},
}  # fmt: skip


async def test_the_report_of_an_empty_database_counts_nothing_and_leaves_no_connection(own_database: str) -> None:
    found = await report_from_database(own_database)
    assert found.keys() == {"feedback", "report"}
    assert found["feedback"] == NOBODYS
    assert (found["report"]["total"], found["report"]["conversations"]) == (0, 0)
    connection = await asyncpg.connect(own_database)
    try:
        others = (
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
            "and backend_type = 'client backend'"
        )
        assert await connection.fetchval(others) == 0
    finally:
        await connection.close()
