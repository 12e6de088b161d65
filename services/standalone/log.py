"""Which log a run uses: in memory, a real Kafka of our own, or somebody's address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from servicekit.topics import ensure_topics, partitions_by_topic

Say = Callable[[str], None]


@asynccontextmanager
async def open_log(choice: str, state: Path, say: Say) -> AsyncIterator[str]:
    """The bootstrap address of the log that `choice` names (memory, local or HOST:PORT,...), with all topics made."""
    match choice:
        case "memory":
            from servicekit.embedded.memory_broker import MemoryBroker

            with MemoryBroker(partitions_by_topic()) as memory:
                yield memory.bootstrap
        case "local":
            from servicekit.embedded.local_kafka import LocalKafka

            async with LocalKafka(state / "kafka", say=say) as kafka:
                await ensure_topics(kafka.bootstrap, say=say)
                yield kafka.bootstrap
        case address:
            await ensure_topics(address, say=say)
            yield address
