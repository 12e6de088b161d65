"""Disk that chat events take: bytes in PostgreSQL by service, of its write-ahead log, and in the topics.

    python -m benchmarks.stored_bytes [--events N]

The four services handle the events in one process, on an in-process log and an embedded PostgreSQL. Bytes are per chat
event, indexes included, and without the empty tables. Those of a topic are of keys, values and headers, without
compression and replicas.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg

from benchmarks.run_one_process import BATCH
from benchmarks.workload import Workload, scratch, source_of
from servicekit.log.records import Message, Producer, Written
from servicekit.log.topics import partitions_by_topic
from servicekit.logging import configure_logging
from servicekit.service import ServiceContext
from standalone.embedded.backpressure import Backpressure
from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.one_process.stack import Stack

_SIZES = """
select n.nspname as service, sum(pg_total_relation_size(c.oid))::bigint as bytes,
    sum(pg_indexes_size(c.oid))::bigint as indexes
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname in ('chat_bridge', 'feedback', 'inference', 'reporting') group by 1
"""
_WAL = "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"


class Counting:
    """Producer that counts the written bytes by topic."""

    def __init__(self, inner: Producer, written: Counter[str]) -> None:
        self._inner = inner
        self._written = written

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        for one in messages:
            headers = sum(len(name) + len(value or b"") for name, value in one.headers)
            self._written[one.topic] += len(one.key or "") + len(one.value or b"") + headers
        return await self._inner.send(messages)


async def measure(url: str, events: int, source: str) -> dict[str, Any]:
    """Return the stored bytes per chat event."""
    configure_logging(quiet=True)
    messages = Workload(source, events, seed=1, run="bytes").messages()
    written: Counter[str] = Counter()
    connection = await asyncpg.connect(url)
    with MemoryBroker(partitions_by_topic()) as broker:
        around = ServiceContext(broker.bootstrap, wrap_producer=lambda producer: Counting(producer, written))
        stack = Stack(around, url, Backpressure())
        try:
            await stack.start()
            while await stack.not_ready():
                await asyncio.sleep(0.05)
            empty, wal = await _sizes(connection), await connection.fetchval(_WAL)
            for start in range(0, len(messages), BATCH):
                await stack.log.send(messages[start : start + BATCH])
            await stack.quiet()
            for _ in range(2):  # the second vacuum returns what the first one made free
                await connection.execute("vacuum")
            full, wal = await _sizes(connection), await connection.fetchval(_WAL) - wal
        finally:
            await stack.stop()
            await connection.close()
    per_event = partial(_per_event, events=len(messages))
    return {
        "events": len(messages),
        "postgres": {service: per_event(full[service] - empty[service]) for service in full if service != "indexes"},
        "indexes": per_event(full["indexes"] - empty["indexes"]),
        "wal": per_event(wal),
        "topics": {topic: per_event(size) for topic, size in sorted(written.items())},
    }


async def _sizes(connection: asyncpg.Connection) -> dict[str, int]:
    rows = await connection.fetch(_SIZES)
    return {row["service"]: row["bytes"] for row in rows} | {"indexes": sum(row["indexes"] for row in rows)}


def _per_event(size: int, events: int) -> int:
    return round(size / events)


async def stored_bytes(folder: Path, events: int) -> dict[str, Any]:
    """Return the stored bytes per chat event, with the name of the source of events."""
    source, name = source_of(folder)
    async with EmbeddedPostgres(folder / "postgres", print) as server:
        return {"source": name, **await measure(server.url, events, str(source))}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stored_bytes", description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    with scratch() as folder:
        print(json.dumps(asyncio.run(stored_bytes(folder, parser.parse_args().events))))


if __name__ == "__main__":
    main()
