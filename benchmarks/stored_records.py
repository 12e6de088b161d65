"""Processor time of a chat event by the number of feedback records that are already stored.

    python -m benchmarks.stored_records [--events N] [--stored 10000,100000]

The four services handle the events in one process, on an in-process log and an embedded PostgreSQL. Before each row the
rows of the first run are copied in SQL, with conversations and people of their own, until there are enough feedback
records. Tables are then vacuumed, and autovacuum is off, because its time would fall into rows at random. Prints a
table in Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import asyncpg
import uvloop

from benchmarks.effort import Effort
from benchmarks.jobs import Job
from benchmarks.run_one_process import feed, stack_on
from benchmarks.servers import servers
from benchmarks.workload import Workload, scratch, source_of
from servicekit.garbage_collection import tune_gc
from servicekit.log.topics import partitions_by_topic
from servicekit.logging import configure_logging
from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.postgres import EmbeddedPostgres

HEAD: Final = (
    "| feedback records | messages | PostgreSQL in GB | services in ms | PostgreSQL in ms | write-ahead log in KB |"
)
COPIED: Final = (
    "chat_bridge.messages",
    "inference.messages",
    "inference.turns",
    "inference.verdicts",
    "inference.user_reactions",
    "feedback.messages",
    "feedback.feedback",
    "reporting.messages",
    "reporting.feedbacks",
)
"""Tables with one row per message, turn or feedback record."""
_NAMES: Final = ("conversation_id", "user_id", "sender_id", "message_id", "turn_id")
_UUIDS: Final = ("feedback_id", "slot")
_COLUMNS: Final = """
select attname from pg_attribute
where attrelid = $1::text::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum
"""
_BATCH: Final = 20
"""Number of copies made by one statement."""


async def copy_rows(connection: asyncpg.Connection, first: int, last: int) -> None:
    """Insert copies `first` to `last` of the original rows, each with its own ids."""
    await connection.execute("set session_replication_role = replica")  # no triggers
    for table in COPIED:
        columns = [row["attname"] for row in await connection.fetch(_COLUMNS, table)]
        values = ", ".join(_copied(name) for name in columns)
        for start in range(first, last + 1, _BATCH):
            await connection.execute(
                f"insert into {table} ({', '.join(columns)}) select {values} from {table} t, "
                f"generate_series({start}, {min(last, start + _BATCH - 1)}) n "
                "where t.conversation_id not like '%~%'"
            )
    await connection.execute("set session_replication_role = origin")


def _copied(name: str) -> str:
    if name in _UUIDS:
        return f"md5(t.{name}::text || n)::uuid"
    return f"t.{name} || '~' || n" if name in _NAMES else f"t.{name}"


class Store:
    """A database that is filled step by step, with its server."""

    def __init__(self, server: EmbeddedPostgres, url: str, source: str) -> None:
        self._server, self._url, self._source = server, url, source
        self._copies = 0

    async def run(self, workload: Workload) -> dict[str, Any]:
        """Let the services handle the events of `workload`. Return the effort per event."""
        job = Job(workload, self._url, None, self._server.pid, None)
        messages = workload.messages()
        with MemoryBroker(partitions_by_topic()) as broker:
            stack = stack_on(job, broker.bootstrap)
            try:
                await stack.start()
                while await stack.not_ready():
                    await asyncio.sleep(0.02)
                tune_gc()
                wal = await self._value("select pg_current_wal_lsn() - '0/0'")
                effort = Effort({"postgres": [self._server.pid]})
                await feed(stack.log, messages)
                await stack.quiet()
                measured = effort.until_now(len(messages))
            finally:
                await stack.stop()
        return measured | {"wal": float(await self._value("select pg_current_wal_lsn() - '0/0'") - wal) / len(messages)}

    async def fill(self, records: int) -> None:
        """Copy rows until at least `records` feedback records are stored, then vacuum the tables."""
        own = await self._value("select count(*) from feedback.feedback where conversation_id not like '%~%'")
        wanted = max(0, -(-records // own) - 1)
        connection = await asyncpg.connect(self._url)
        try:
            if wanted > self._copies:
                await copy_rows(connection, self._copies + 1, wanted)
                self._copies = wanted
            await connection.execute("vacuum (freeze, analyze)")
            await connection.execute("checkpoint")
        finally:
            await connection.close()

    async def row(self, measured: dict[str, Any], before: tuple[int, int, int]) -> str:
        records, messages, size = before
        cost = measured["cpu_ms_per_event"]
        cells = (f"{records:,}", f"{messages:,}", f"{size / 1e9:.2f}", f"{cost['own']:.3f}", f"{cost['postgres']:.3f}")
        return f"| {' | '.join(cells)} | {measured['wal'] / 1e3:.1f} |"

    async def sizes(self) -> tuple[int, int, int]:
        """Return the number of feedback records, the number of messages, and the database's size in bytes."""
        return (
            await self._value("select count(*) from feedback.feedback"),
            await self._value("select count(*) from reporting.messages"),
            await self._value("select pg_database_size(current_database())"),
        )

    async def _value(self, query: str) -> Any:
        connection = await asyncpg.connect(self._url)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()


async def table(folder: Path, events: int, stored: list[int]) -> None:
    source, _ = source_of(folder)
    async with servers(folder, say, with_kafka=False) as shared:
        connection = await asyncpg.connect(shared.postgres.url)
        await connection.execute("alter system set autovacuum = off")
        await connection.execute("select pg_reload_conf()")
        await connection.close()
        job = await shared.job(Workload(str(source), events, 1, "stored"), on_kafka=False)
        store = Store(shared.postgres, job.database_url, str(source))
        await store.run(job.workload)
        await store.fill(0)
        print(HEAD, "|---" * (HEAD.count("|") - 1) + "|", sep="\n", flush=True)
        for number, records in enumerate(stored):
            say(f"{records:,} feedback records ...")
            await store.fill(records)
            before = await store.sizes()
            measured = await store.run(Workload(str(source), events, 1, f"measured{number}"))
            print(await store.row(measured, before), flush=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stored_records", description=__doc__)
    parser.add_argument("--events", type=int, default=8_000, help="chat events of each run")
    parser.add_argument(
        "--stored", type=lambda text: [int(part) for part in text.split(",")], default=[10_000, 100_000]
    )
    options = parser.parse_args()
    configure_logging(quiet=True)
    with scratch() as folder:
        uvloop.run(table(folder, options.events, options.stored))


if __name__ == "__main__":
    main()
