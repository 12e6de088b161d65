"""Tables without statistics are analysed once they contain some data."""

from __future__ import annotations

from pathlib import Path

from servicekit.db.pools import open_pool
from servicekit.db.statistics import LEAST_BYTES, analyse_unanalysed

TABLES = """
create table small (n int) with (autovacuum_enabled = off);
create table "Large one" (n int, filler text) with (autovacuum_enabled = off);
create table analysed (n int, filler text) with (autovacuum_enabled = off);
"""


async def test_only_large_tables_without_statistics_are_analysed(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "0001_tables.sql").write_text(TABLES)
    pool = await open_pool(postgres_url, "statistics", tmp_path, size=2)
    assert await analyse_unanalysed(pool) == []
    await pool.execute("insert into small select generate_series(1, 10)")
    await pool.execute("insert into analysed values (1, '')")
    await pool.execute("analyze analysed")
    for table in ('"Large one"', "analysed"):
        await pool.execute(
            f"insert into {table} select n, repeat('x', 1000) from generate_series(1, $1) n", LEAST_BYTES // 1000 + 10
        )
    assert await analyse_unanalysed(pool) == ['statistics."Large one"']
    assert await pool.fetchval("select reltuples from pg_class where relname = 'Large one'") == LEAST_BYTES // 1000 + 10
    assert await analyse_unanalysed(pool) == []
    await pool.close()


async def test_a_table_that_another_process_analyses_is_left_to_it(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "0001_tables.sql").write_text(TABLES)
    pool = await open_pool(postgres_url, "statistics_locked", tmp_path, size=2)
    await pool.execute("""insert into "Large one" select n, repeat('x', 1000) from generate_series(1, 400) n""")
    async with pool.acquire() as other, other.transaction():
        await other.execute('lock table "Large one" in share update exclusive mode')
        assert await analyse_unanalysed(pool) == ['statistics_locked."Large one"']
        assert await pool.fetchval("select reltuples from pg_class where relname = 'Large one' "
                                   "and relnamespace = 'statistics_locked'::regnamespace") == -1  # fmt: skip
    await pool.close()
