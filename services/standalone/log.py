"""Access to the Kafka of a run: in memory, or at a given address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from contracts.topics import KAFKA_PARTITIONS
from servicekit.log.cluster import Bootstrap, cluster_at
from servicekit.log.topics import ensure_topics, partitions_by_topic
from standalone.waiting import within

Say = Callable[[str], None]


@asynccontextmanager
async def open_log(choice: str, say: Say, seconds: float | None) -> AsyncIterator[Bootstrap]:
    """Open the Kafka given by `choice` (memory or HOST:PORT,...), and create all topics.

    Args:
        seconds: Time limit for an external broker to respond, or None to wait forever.

    Raises:
        StartError: The external broker does not respond in time.
    """
    if choice != "memory":
        cluster = cluster_at(choice)
        await within(seconds, ensure_topics(cluster, partitions=KAFKA_PARTITIONS, say=say), choice)
        yield cluster
        return
    from standalone.embedded.memory_broker import MemoryBroker

    with MemoryBroker(partitions_by_topic()) as memory:
        yield memory.bootstrap


def facts_of_log(choice: str, log: Bootstrap) -> dict[str, Any]:
    """Return what other commands need to reach this run's Kafka; the inverse of `log_of`."""
    return {"log": "memory" if choice == "memory" else "kafka", "broker": str(log)}


def log_of(facts: Mapping[str, Any]) -> Bootstrap:
    """Return the address of a run's Kafka from the result of `facts_of_log`, with the credentials of KAFKA_*.

    Raises:
        StartError: The settings KAFKA_* are invalid.
    """
    servers = str(facts["broker"])
    return servers if facts.get("log") == "memory" else cluster_at(servers)
