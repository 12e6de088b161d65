"""Run of the four services as separate processes on a real Kafka, until all events are processed.

python -m benchmarks.run_four_processes JOB [PROCESSES]

PROCESSES is the number of processes of each service; default: one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from benchmarks.effort import Effort
from benchmarks.jobs import Job, answer
from benchmarks.programs import Program
from benchmarks.run_one_process import check, feed
from benchmarks.workload import Expected
from contracts.topics import OPTIONAL, Consumer, consumed_by
from servicekit.log.producer import BatchProducer

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")


async def measure(job: Job) -> dict[str, Any]:
    """Run the measurement. Raises AssertionError unless the read model has every message at the end."""
    messages = job.workload.messages()
    assert job.bootstrap is not None, "four processes need a log of their own"
    each = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    async with four_services(job, each) as pids:
        producer = BatchProducer(job.bootstrap, client_id="bench")
        await producer.start()
        quiet = Quiet(job.bootstrap)
        await quiet.start()
        effort = Effort({**pids, "postgres": [job.postgres], "kafka": [job.kafka]})
        await feed(producer, messages)
        await quiet.wait()
        measured = effort.until_now(len(messages))
        await quiet.stop()
        await producer.stop()
        await check(job.database_url, Expected.of(messages))
    return measured


@asynccontextmanager
async def four_services(job: Job, each: int = 1) -> AsyncIterator[dict[str, list[int]]]:
    """Run `each` processes of every service with `agent-feedback run`.

    Yields their process ids by service when all are ready.
    """
    started = {name: [_start(job, name) for _ in range(each)] for name in SERVICES}
    programs = [program for some in started.values() for program in some]
    try:
        for program in programs:
            await asyncio.to_thread(program.wait_until_ready)
        yield {name: [program.pid for program in some] for name, some in started.items()}
    finally:
        for program in programs:
            await asyncio.to_thread(program.stop)


def _start(job: Job, name: str) -> Program:
    settings = {
        f"{name.upper()}_BROKER": str(job.bootstrap),
        f"{name.upper()}_DATABASE_URL": job.database_url,
        "FEEDBACK_STORE_URL": job.database_url,
        "AGENT_FEEDBACK_TOKEN": "bench-four-procs",
    }
    return Program("-m", "standalone", "run", name, environment=settings)


class Quiet:
    """Detector of an idle system: every group has committed all records, and no more are written."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        self._reader = AIOKafkaConsumer(bootstrap_servers=bootstrap)
        self._read: dict[Consumer, list[TopicPartition]] = {
            group: [TopicPartition(topic.name, n) for topic in consumed_by(group) for n in range(topic.partitions)]
            for group in get_args(Consumer)
            if group not in OPTIONAL
        }

    async def start(self) -> None:
        await self._admin.start()
        await self._reader.start()

    async def stop(self) -> None:
        await self._reader.stop()
        await self._admin.close()

    async def wait(self) -> None:
        before: dict[TopicPartition, int] | None = None
        while True:
            ends = await self._reader.end_offsets(sorted({one for part in self._read.values() for one in part}))
            behind = any([await self._behind(group, ends) for group in self._read])
            if not behind and ends == before:
                return
            before = None if behind else ends
            await asyncio.sleep(0.1 if behind else 0.03)

    async def _behind(self, group: Consumer, ends: dict[TopicPartition, int]) -> bool:
        committed = await self._admin.list_consumer_group_offsets(group)
        return any(ends[one] > (committed[one].offset if one in committed else 0) for one in self._read[group])


if __name__ == "__main__":
    answer(measure)
