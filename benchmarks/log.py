"""The log of a measured run: the one it was given, or one in its own memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from benchmarks.jobs import Job


@asynccontextmanager
async def log_with(job: Job, topics: Mapping[str, int]) -> AsyncIterator[str]:
    """The address of a log that has `topics` (name to partitions), made where they are missing."""
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
