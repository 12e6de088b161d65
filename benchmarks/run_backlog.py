"""Run of the four services over a log that already has all events, until all are processed.

The result has counts that do not depend on the machine's speed, and a digest of the inferred feedback records.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from hashlib import sha256
from typing import Any, Final

import asyncpg

from benchmarks.effort import Effort
from benchmarks.jobs import Job, answer
from benchmarks.log import log_with
from benchmarks.run_one_process import check, feed, stack_on
from benchmarks.workload import Expected
from contracts.topics import INFERRED_RECEIVED
from servicekit.garbage_collection import tune_gc
from servicekit.log.messages import Message
from servicekit.log.producer import BatchProducer
from servicekit.log.topics import partitions_by_topic
from servicekit.logging import configure_logging

_PARKED: Final = "select n_tup_ins from pg_stat_user_tables where schemaname = 'chat_bridge' and relname = 'parked'"
_JUDGED: Final = "select n_tup_ins + n_tup_upd from pg_stat_user_tables where schemaname = $1 and relname = $2"
_INFERRED: Final = """
select key::text, visible::text from (
    select feedback_id as key, to_jsonb(f) - '{revision,recorded_at,written_by}'::text[] as visible
    from reporting.feedbacks f where source = 'inference') one order by key
"""
_POSITION: Final = "select pg_current_wal_lsn() - '0/0'::pg_lsn"


async def measure(job: Job) -> dict[str, Any]:
    """Publish all events, then start the services and wait until they are idle. Return the figures."""
    configure_logging(quiet=True)
    messages = job.workload.messages()
    async with AsyncExitStack() as parts:
        bootstrap = await parts.enter_async_context(log_with(job, partitions_by_topic()))
        await _publish(bootstrap, messages)
        connection = await asyncpg.connect(job.database_url)
        parts.push_async_callback(connection.close)
        stack = stack_on(job, bootstrap)
        parts.push_async_callback(stack.stop)
        effort = Effort({"postgres": [job.postgres], "kafka": [job.kafka]})
        before = await connection.fetchval(_POSITION)
        await stack.start()
        while await stack.not_ready():
            await asyncio.sleep(0.02)
        tune_gc()
        await stack.quiet()
        wal = await connection.fetchval(_POSITION) - before
        measured = effort.until_now(len(messages))
        await check(job.database_url, Expected.of(messages))
        produced = stack.produced
        await stack.stop()
        rows = await _counts(connection)
        digest, live = await _inferred(connection)
    return {
        **measured,
        "parked_per_event": round(rows["parked"] / len(messages), 4),
        "inferred_records": produced[INFERRED_RECEIVED.name],
        "records_per_event": round(sum(produced.values()) / len(messages), 3),
        "wal_bytes_per_event": round(float(wal) / len(messages)),
        "row_writes": rows,
        "live_verdicts": live,
        "verdicts": digest,
    }


async def _publish(bootstrap: str, messages: Sequence[Message]) -> None:
    producer = BatchProducer(bootstrap, client_id="bench")
    await producer.start()
    try:
        await feed(producer, messages)
    finally:
        await producer.stop()


async def _counts(connection: asyncpg.Connection) -> dict[str, int]:
    """Return the number of row writes of some tables. PostgreSQL counts them when the writer's connection is closed."""
    await asyncio.sleep(0.5)
    return {
        "parked": await connection.fetchval(_PARKED),
        **{
            f"{schema}.{table}": await connection.fetchval(_JUDGED, schema, table)
            for schema, table in (("inference", "verdicts"), ("inference", "turns"), ("inference", "messages"))
        },
    }


async def _inferred(connection: asyncpg.Connection) -> tuple[str, int]:
    """Return a digest of the inferred feedback records without their revisions, and the number of live ones."""
    rows = await connection.fetch(_INFERRED)
    digest = sha256(json.dumps([tuple(row) for row in rows]).encode()).hexdigest()[:12]
    return digest, sum(json.loads(row["visible"]).get("value") is not None for row in rows)


if __name__ == "__main__":
    answer(measure)
