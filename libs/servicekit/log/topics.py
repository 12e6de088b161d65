"""Creation and checks of the topics declared in `contracts/topics.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from contracts.topics import DAY_MS, DEAD_LETTER_PARTITIONS, TOPICS, Topic
from servicekit.errors import StartError
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.settings import MESSAGE_LIMIT

DEAD_LETTER_DAYS = 7
"""Retention of dead letters in days, equal to the retention of the topics that their texts come from."""
COPIES = 3
"""Number of replicas of each partition, if the cluster has that many brokers."""
_VISIBLE_TRIES = 50
"""Maximum number of checks, 0.2 s apart, until a created topic is visible on the broker."""
Say = Callable[[str], None]


def partitions_by_topic() -> dict[str, int]:
    """Return the number of partitions of every topic and dead-letter topic."""
    counts = {topic.name: topic.partitions for topic in TOPICS}
    return counts | {topic.dead_letters: DEAD_LETTER_PARTITIONS for topic in TOPICS}


def topic_config(topic: Topic, replication: int) -> dict[str, str]:
    """Return the Kafka configuration of `topic`: log-append timestamps, retention, and compaction if declared."""
    config = {
        "message.timestamp.type": "LogAppendTime",
        "retention.ms": str(topic.retention_ms),
        **_durability(replication),
    }
    if topic.compacted:
        config |= {
            "cleanup.policy": "compact",
            "max.compaction.lag.ms": str(DAY_MS),
            "segment.ms": str(DAY_MS),
            "delete.retention.ms": str(7 * DAY_MS),
        }
    return config


def declared_topics(replication: int) -> list[NewTopic]:
    """Return aiokafka's definitions of all topics and dead-letter topics, with `replication` replicas per partition."""
    letters = {"retention.ms": str(DEAD_LETTER_DAYS * DAY_MS), **_durability(replication)}
    return [
        NewTopic(topic.name, topic.partitions, replication, topic_configs=topic_config(topic, replication))
        for topic in TOPICS
    ] + [NewTopic(topic.dead_letters, DEAD_LETTER_PARTITIONS, replication, topic_configs=letters) for topic in TOPICS]


def _durability(replication: int) -> dict[str, str]:
    """Return the topic settings for record size and durability.

    With at least three replicas, two of them must acknowledge a record.
    """
    kept = {"min.insync.replicas": "2"} if replication >= 3 else {}
    return {"max.message.bytes": str(MESSAGE_LIMIT + 100_000), **kept}


async def wait_for_broker(bootstrap: Bootstrap, say: Say) -> AIOKafkaAdminClient:
    """Connect to the broker and return an admin client.

    While the broker does not respond, this waits and reports the wait through `say`.
    """
    tries = 0
    while True:
        admin = AIOKafkaAdminClient(**client_options(bootstrap), request_timeout_ms=10_000)
        try:
            await admin.start()
            return admin
        except (KafkaError, OSError, TimeoutError) as error:
            await admin.close()
            if tries % 5 == 0:
                say(f"Waiting for the broker at {bootstrap} ({type(error).__name__}) ...")
            tries += 1
            await asyncio.sleep(1)


async def ensure_topics(
    bootstrap: Bootstrap, *, replication: int | None = None, create: bool = True, say: Say = lambda _: None
) -> None:
    """Create missing topics, and check the partition counts of compacted topics.

    A wrong partition count could spread the announcements of one feedback record over two partitions.

    Args:
        replication: The number of replicas per partition. By default there are three, or one per broker if there are
            fewer brokers.
        create: False to only check the topics.

    Raises:
        StartError: If a topic is missing or cannot be created, or if a compacted topic does not have the declared
            number of partitions.
    """
    admin = await wait_for_broker(bootstrap, say)
    try:
        made = await _create(admin, replication, say) if create else set[str]()
        found = await _partitions(admin)
        for _ in range(_VISIBLE_TRIES):
            if made <= found.keys():
                break
            await asyncio.sleep(0.2)
            found = await _partitions(admin)
    finally:
        await admin.close()
    for topic in TOPICS:
        for name in (topic.name, topic.dead_letters):
            if name not in found:
                raise StartError(f"The topic {name} is missing on {bootstrap}: run `agent-feedback topics --create`.")
        count = found[topic.name]
        if topic.compacted and count != topic.partitions:
            raise StartError(
                f"{topic.name} has {count} partitions on {bootstrap} and must have {topic.partitions}: "
                "its partition count is fixed for its life. Make the topic again and run `agent-feedback republish`."
            )


async def _brokers(admin: AIOKafkaAdminClient) -> int:
    return len((await admin.describe_cluster())["brokers"])


async def _partitions(admin: AIOKafkaAdminClient) -> dict[str, int]:
    described = await admin.describe_topics(list(partitions_by_topic()))
    return {topic["topic"]: len(topic["partitions"]) for topic in described if topic["error_code"] == 0}


async def _create(admin: AIOKafkaAdminClient, copies: int | None, say: Say) -> set[str]:
    """Create the missing topics and return their names."""
    replication = copies or min(COPIES, await _brokers(admin))
    existing = set(await admin.list_topics())
    missing = [topic for topic in declared_topics(replication) if topic.name not in existing]
    if not missing:
        return set()
    if copies is None and replication < COPIES:
        say(f"Creating topics with {replication} of {COPIES} replicas (too few brokers): losing one may lose records.")
    response = await admin.create_topics(missing)
    for name, code, *_ in response.topic_errors:
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:
            raise StartError(f"The topic {name} cannot be created: {error.__name__}.")
    return {topic.name for topic in missing}
