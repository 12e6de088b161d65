"""Access to a Kafka and a feedback store, given by options or by a running `up`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from aiokafka.admin import AIOKafkaAdminClient

from contracts.topics import Consumer
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
from standalone.log import log_of
from standalone.operations.remote_backpressure import with_backpressure
from standalone.state import running
from standalone.terminal import ANSWER_SECONDS, say
from standalone.waiting import within


@dataclass(frozen=True)
class LogTarget:
    """Addresses of a Kafka and a feedback store.

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


@asynccontextmanager
async def writing_to(target: LogTarget) -> AsyncIterator[Producer]:
    """Yield a producer for the target's log. If the log is in memory, the producer waits for slow consumers."""
    admin = await admin_of(target.bootstrap)
    producer = BatchProducer(target.bootstrap, client_id="agent-feedback-tool")
    try:
        if target.groups:
            async with with_backpressure(producer, admin, target.groups) as throttled:
                yield throttled
        else:
            yield producer
    finally:
        await producer.stop()
        await admin.close()


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
