"""Cost of retention by deletion and by dropped partitions, and of look-ups by key on either table.

    python -m benchmarks.time_partitions [--rows N] [--days N]

Messages of `days` days in the table `messages` of reporting, and in a copy with a partition a day. The primary key of
the copy must contain the time. Retention removes the oldest day. Prints a table in Markdown; times are processor times
of PostgreSQL.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg
import uvloop

from benchmarks.effort import Effort
from benchmarks.workload import scratch
from contracts.instants import DAY
from reporting.parts import MIGRATIONS
from servicekit.clock import FixedClock
from servicekit.db.pools import open_pool
from servicekit.db.retention import Expiry, Retention
from standalone.embedded.postgres import EmbeddedPostgres

NOW: Final = 1_790_000_000_000_000 // DAY * DAY
LOOKUPS: Final = 2_000
_FILL: Final = """
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_type, sender_id, content,
    occurred_at, sequence, version, agent_id)
select 'acme', 'support', 'c' || i / 8, 'm' || i, 't' || i / 2, case i % 2 when 0 then 'human' else 'agent' end,
    'u' || i % 5000, repeat('Some words of a message. ', 8), $2::bigint + i * $3::bigint, -1,
    '\\x02'::bytea || int8send($2::bigint + i * $3::bigint) || '\\x00000000000000000000000000000000', null
from generate_series(0, $1::bigint - 1) i
"""
_KEYED: Final = """
select content from {table} where message_id = $1 and conversation_id = $2 and tenant = 'acme' and project = 'support'
"""


async def partition(connection: asyncpg.Connection, days: int) -> None:
    """Create `by_day`, a copy of `messages` with one partition per day and the same indexes."""
    await connection.execute(
        "create table by_day (like messages including defaults including generated) partition by range (occurred_at)"
    )
    for day in range(days):
        start = NOW - (days - day) * DAY
        await connection.execute(
            f"create table day{day} partition of by_day for values from ({start}) to ({start + DAY})"
        )
    for (text,) in await connection.fetch(
        "select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'messages'::regclass and not indisprimary"
    ):
        _, _, definition = text.partition(" USING ")
        await connection.execute(f"create index on by_day using {definition}")
    await connection.execute(
        "alter table by_day add primary key (message_id, conversation_id, tenant, project, occurred_at)"
    )
    columns = await connection.fetchval(
        "select string_agg(attname, ', ' order by attnum) from pg_attribute "
        "where attrelid = 'messages'::regclass and attnum > 0 and attgenerated = '' and not attisdropped"
    )
    await connection.execute(f"insert into by_day ({columns}) select {columns} from messages")


async def table(rows: int, days: int) -> None:
    with scratch() as folder:
        async with EmbeddedPostgres(folder / "postgres") as server:
            pool = await open_pool(server.url, "reporting", MIGRATIONS)
            await pool.close()
            connection = await asyncpg.connect(server.url, server_settings={"search_path": "reporting"})
            try:
                await connection.execute("alter system set autovacuum = off")
                await connection.execute("select pg_reload_conf()")
                await connection.execute("set session_replication_role = replica")
                await connection.execute(_FILL, rows, NOW - days * DAY, days * DAY // rows, timeout=600)
                await partition(connection, days)
                await connection.execute("vacuum analyze messages, by_day", timeout=600)
                await connection.execute("checkpoint")

                async def measured(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
                    """Return the CPU seconds of PostgreSQL and the megabytes of write-ahead log that `work` uses."""
                    before, effort = await _wal(connection), Effort({"postgres": [server.pid]})
                    await work()
                    milliseconds = effort.until_now(1)["cpu_ms_per_event"]["postgres"]
                    return milliseconds / 1e3, (await _wal(connection) - before) / 1e6

                async def look_up(name: str) -> None:
                    query = await connection.prepare(_KEYED.format(table=name))
                    for n in range(LOOKUPS):
                        number = n * (rows // LOOKUPS)
                        await query.fetch(f"m{number}", f"c{number // 8}")

                clock = FixedClock(NOW)
                retention = Retention(
                    "reporting", connection, clock, [Expiry("messages", days - 1, "r.occurred_at < $1")]
                )
                print("| work | one table | a partition a day |\n|---|---|---|")
                plain, parts = await measured(lambda: look_up("messages")), await measured(lambda: look_up("by_day"))
                print(f"| a look-up by key, ms | {plain[0] * 1e3 / LOOKUPS:.3f} | {parts[0] * 1e3 / LOOKUPS:.3f} |")
                deleted = await measured(retention.sweep)
                vacuumed = await measured(lambda: connection.execute("vacuum messages", timeout=600))
                dropped = await measured(lambda: connection.execute("drop table day0"))
                print(f"| retention of {rows // days:,} rows, s | {deleted[0]:.2f} | {dropped[0]:.2f} |")
                print(f"| its write-ahead log, MB | {deleted[1]:.1f} | {dropped[1]:.1f} |")
                print(f"| vacuum afterwards, s | {vacuumed[0]:.2f} | 0 |")
            finally:
                await connection.close()


async def _wal(connection: asyncpg.Connection) -> float:
    return float(await connection.fetchval("select pg_current_wal_lsn() - '0/0'"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_partitions", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--days", type=int, default=30)
    options = parser.parse_args()
    uvloop.run(table(options.rows, options.days))


if __name__ == "__main__":
    main()
