"""Access to a Kafka cluster and a feedback store, given by options or by a running `up`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from contracts.topics import Consumer, consumed_by
from feedback.parts import open_store
from feedback.settings import FeedbackSettings
from feedback.store import Store
from servicekit.db.pools import wait_for_database
from servicekit.errors import shown
from servicekit.log.cluster import Bootstrap, cluster_at
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Producer
from servicekit.log.topics import wait_for_broker
from servicekit.service import Service, ServiceContext
from servicekit.settings import read_settings
from standalone.embedded.backpressure import OUTSIDE_BYTES, Backpressure, BackpressureProducer
from standalone.state import running
from standalone.terminal import ANSWER_SECONDS, say
from standalone.waiting import within

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class LogTarget:
    """Addresses of a Kafka cluster and a feedback store.

    If the log is in memory, writers must not get too far ahead of the consumer groups in `groups`.
    """

    bootstrap: Bootstrap
    store_url: str
    groups: tuple[Consumer, ...] = ()


async def database_answers(url: str) -> None:
    """Wait until the PostgreSQL or MongoDB at `url` responds.

    Raises:
        StartError: It does not respond in time.
    """
    scheme = urlsplit(url).scheme
    if scheme.startswith("postgres"):
        await within(ANSWER_SECONDS, wait_for_database(url, say), shown(url))
    elif scheme.startswith("mongodb"):
        from feedback.mongo_connection import client_of, wait_until_up

        async with client_of(url) as client:
            await within(ANSWER_SECONDS, wait_until_up(client, url, say), shown(url))


async def admin_of(bootstrap: Bootstrap) -> AIOKafkaAdminClient:
    """Return a connected admin client.

    Raises:
        StartError: No broker responds in time.
    """
    return await within(ANSWER_SECONDS, wait_for_broker(bootstrap, say), str(bootstrap))


def target_of(broker: str | None, state: Path, store: str | None = None) -> LogTarget:
    """Return the addresses of the given broker and store, or those of the running `up` if no broker is given.

    The store for a given broker is FEEDBACK_STORE_URL by default.

    Raises:
        StartError: No broker is given and nothing is running, or the settings are invalid.
    """
    if broker is not None:
        return LogTarget(cluster_at(broker), store or read_settings(FeedbackSettings).store_url)
    facts = running(state)
    groups = facts.get("groups", ()) if facts.get("log") == "memory" else ()
    return LogTarget(log_of(facts), store or str(facts["database"]), tuple(groups))


def log_of(facts: Mapping[str, Any]) -> Bootstrap:
    """Return the Kafka cluster of a run from its `run.json`. An external cluster has the credentials in KAFKA_*.

    Raises:
        StartError: The settings KAFKA_* are invalid.
    """
    servers = str(facts["broker"])
    return servers if facts.get("log") == "memory" else cluster_at(servers)


@asynccontextmanager
async def writing_to(target: LogTarget) -> AsyncIterator[Producer]:
    """Yield a producer for the target's log. If the log is in memory, the producer waits for slow consumers."""
    admin = await admin_of(target.bootstrap)
    producer = BatchProducer(target.bootstrap, client_id="agent-feedback-tool")
    try:
        if target.groups:
            async with _with_backpressure(producer, admin, target.groups) as throttled:
                yield throttled
        else:
            yield producer
    finally:
        await producer.stop()
        await admin.close()


@asynccontextmanager
async def _with_backpressure(
    producer: Producer, admin: AIOKafkaAdminClient, groups: Collection[Consumer]
) -> AsyncIterator[Producer]:
    """Yield a producer that waits while it is 1 MiB ahead of `groups` in a partition."""
    backpressure = Backpressure(OUTSIDE_BYTES)
    backpressure.follow(groups)
    polling = asyncio.create_task(_follow_commits(admin, groups, backpressure))
    try:
        yield BackpressureProducer(producer, backpressure)
    finally:
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling


async def _follow_commits(admin: AIOKafkaAdminClient, groups: Collection[Consumer], backpressure: Backpressure) -> None:
    """Poll the committed offsets of the groups. If the log stops responding, waiting writers fail."""
    try:
        while True:
            for group in groups:
                lanes = [TopicPartition(topic.name, n) for topic in consumed_by(group) for n in range(topic.partitions)]
                offsets = await admin.list_consumer_group_offsets(group, partitions=lanes) if lanes else {}
                backpressure.committed(
                    group, {lane: metadata.offset for lane, metadata in offsets.items() if metadata.offset >= 0}
                )
            await asyncio.sleep(_POLL_SECONDS)
    except (KafkaError, OSError):
        backpressure.stop()


@asynccontextmanager
async def store_of(target: LogTarget) -> AsyncIterator[Store]:
    """Yield the feedback store of the target.

    Raises:
        StartError: The URL is invalid, or the store does not respond.
    """
    await database_answers(target.store_url)
    tool = Service("feedback", ServiceContext(target.bootstrap, say=say))
    try:
        yield await open_store(target.store_url, tool)
    finally:
        await tool.resources.aclose()
