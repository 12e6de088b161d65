"""Access to the Kafka of a run: in memory, on this machine, or at a given address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from contracts.topics import KAFKA_PARTITIONS
from servicekit.log.cluster import Bootstrap, Cluster, cluster_at
from servicekit.log.topics import ensure_topics, partitions_by_topic
from standalone.waiting import within

Say = Callable[[str], None]


@asynccontextmanager
async def open_log(choice: str, state: Path, say: Say, seconds: float | None) -> AsyncIterator[Bootstrap]:
    """Open the Kafka given by `choice` (memory, local or HOST:PORT,...), and create all topics.

    Args:
        seconds: Time limit for an external broker to respond, or None to wait forever.

    Raises:
        StartError: The external broker does not respond in time.
    """
    match choice:
        case "memory":
            from standalone.embedded.memory_broker import MemoryBroker
            from standalone.embedded.write_watch import watched

            with MemoryBroker(partitions_by_topic()) as memory:
                async with watched(memory):
                    yield memory.bootstrap
        case "local":
            from standalone.embedded.local_kafka import LocalKafka

            async with LocalKafka(state / "kafka", secret=token_hex(24), say=say) as kafka:
                await ensure_topics(kafka.cluster, say=say)
                yield kafka.cluster
        case address:
            cluster = cluster_at(address)
            await within(seconds, ensure_topics(cluster, partitions=KAFKA_PARTITIONS, say=say), address)
            yield cluster


def facts_of_log(choice: str, log: Bootstrap) -> dict[str, Any]:
    """Return the connection details that other commands need to reach this run's Kafka; the inverse of `log_of`."""
    facts: dict[str, Any] = {"log": choice, "broker": str(log)}
    if choice == "local" and isinstance(log, Cluster) and log.security.sasl_password is not None:
        facts["kafka_secret"] = log.security.sasl_password.get_secret_value()
    return facts


def log_of(facts: Mapping[str, Any]) -> Bootstrap:
    """Return the address and credentials of a run's Kafka from the result of `facts_of_log`.

    Raises:
        StartError: The settings KAFKA_* are invalid.
    """
    servers = str(facts["broker"])
    match facts.get("log"):
        case "memory":
            return servers
        case "local":
            from standalone.embedded.kafka_parts import cluster_with

            return cluster_with(servers, facts.get("kafka_secret"))
        case _:
            return cluster_at(servers)
