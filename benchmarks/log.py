"""Log of a measured run: either a given one or an in-process one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from benchmarks.jobs import Job


@asynccontextmanager
async def log_with(job: Job, topics: Mapping[str, int]) -> AsyncIterator[str]:
    """Yield the address of a log with `topics` (numbers of partitions by name). Missing topics are created."""
    if job.bootstrap is None:
        from standalone.embedded.memory_broker import MemoryBroker

        with MemoryBroker(topics) as memory:
            yield memory.bootstrap
        return
    admin = AIOKafkaAdminClient(bootstrap_servers=job.bootstrap)
    await admin.start()
    try:
        there = set(await admin.list_topics())
        missing = [NewTopic(name, partitions, 1) for name, partitions in topics.items() if name not in there]
        if missing:
            await admin.create_topics(missing)
    finally:
        await admin.close()
    yield job.bootstrap
