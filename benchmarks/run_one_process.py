"""Run of the four services in one process, until all events are processed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import asyncpg

from benchmarks.effort import Effort
from benchmarks.jobs import Job, answer, log_with
from benchmarks.workload import Expected
from servicekit.garbage_collection import tune_gc
from servicekit.log.records import Message, Producer
from servicekit.log.topics import partitions_by_topic
from servicekit.logging import configure_logging
from servicekit.service import ServiceContext
from standalone.embedded.backpressure import Backpressure
from standalone.one_process.outcomes import Outcomes
from standalone.one_process.stack import Stack

BATCH = 500


async def measure(job: Job) -> dict[str, Any]:
    """Run the measurement. Raises AssertionError unless the read model has every message at the end."""
    configure_logging(quiet=True)
    messages = job.workload.messages()
    async with AsyncExitStack() as parts:
        bootstrap = await parts.enter_async_context(log_with(job, partitions_by_topic()))
        stack = stack_on(job, bootstrap)
        parts.push_async_callback(stack.stop)
        await stack.start()
        while await stack.not_ready():
            await asyncio.sleep(0.02)
        tune_gc()
        effort = Effort({"postgres": [job.postgres], "kafka": [job.kafka]})
        await feed(stack.log, messages)
        await stack.quiet()
        measured = effort.until_now(len(messages))
        expected = Expected.of(messages)
        await check(job.database_url, expected)
        parked = await stack.services["chat_bridge"].parts.store.parked()
        assert parked == expected.parked, f"{parked} events are parked instead of {expected.parked}"
    return measured


def stack_on(job: Job, bootstrap: str) -> Stack:
    """Return a stack of the four services that is not started, on the log at `bootstrap` and the database of `job`."""
    around = ServiceContext(bootstrap, observers=[Outcomes()])
    if job.bootstrap is not None:
        return Stack(around, job.database_url)
    return Stack(around, job.database_url, Backpressure())


async def feed(producer: Producer, messages: Sequence[Message]) -> None:
    for start in range(0, len(messages), BATCH):
        await producer.send(messages[start : start + BATCH])


async def check(database_url: str, expected: Expected) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        count = await connection.fetchval("select count(*) from reporting.messages")
    finally:
        await connection.close()
    assert count == expected.messages, f"{count} messages in the read model instead of {expected.messages}"


if __name__ == "__main__":
    answer(measure)
