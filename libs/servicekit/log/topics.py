"""Creation and checks of the topics declared in `contracts/topics.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from contracts.topics import COMPACTED, DAY_MS, DEAD_LETTER_PARTITIONS, TOPICS, Topic
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


def declared_topics(replication: int, partitions: int | None = None) -> list[NewTopic]:
    """Return aiokafka's definitions of all topics and dead-letter topics.

    Args:
        replication: The number of replicas per partition.
        partitions: The number of partitions of each topic except dead-letter topics. By default, it is the number in
            `TOPICS`.
    """
    letters = {"retention.ms": str(DEAD_LETTER_DAYS * DAY_MS), **_durability(replication)}
    return [
        NewTopic(
            topic.name, partitions or topic.partitions, replication, topic_configs=topic_config(topic, replication)
        )
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
    bootstrap: Bootstrap,
    *,
    replication: int | None = None,
    partitions: int | None = None,
    extend: bool = False,
    create: bool = True,
    say: Say = lambda _: None,
) -> None:
    """Create missing topics, add partitions if requested, and check that compacted topics are compacted.

    Args:
        replication: The number of replicas per partition. By default there are three, or one per broker if there are
            fewer brokers.
        partitions: The number of partitions of the first created topics. By default, it is the number in `TOPICS`. If
            there are topics already, created topics get as many partitions as the largest of them.
        extend: True to add partitions to existing topics with fewer than `partitions`.
        create: False to only check the topics.

    Raises:
        StartError: If a topic is missing, cannot be created or extended, or if Kafka may delete records of a compacted
            topic.
    """
    admin = await wait_for_broker(bootstrap, say)
    try:
        wanted: dict[str, int] = {}
        if create:
            wanted = await _create(admin, replication, partitions, extend, say)
            if extend and partitions is not None:
                wanted |= await _extend(admin, partitions)
        topics = await _partitions(admin)
        for _ in range(_VISIBLE_TRIES):
            if all(topics.get(name, 0) >= count for name, count in wanted.items()):
                break
            await asyncio.sleep(0.2)
            topics = await _partitions(admin)
        for name in partitions_by_topic():
            if name not in topics:
                raise StartError(f"The topic {name} is missing on {bootstrap}: run `agent-feedback topics --create`.")
        for name in await _uncompacted(admin):
            raise StartError(
                f"Kafka may delete records of the topic {name} on {bootstrap}: set its cleanup.policy to compact."
            )
    finally:
        await admin.close()


async def _brokers(admin: AIOKafkaAdminClient) -> int:
    return len((await admin.describe_cluster())["brokers"])


async def _partitions(admin: AIOKafkaAdminClient) -> dict[str, int]:
    """Return the number of partitions of each existing topic and dead-letter topic."""
    # To describe a missing topic creates it if the broker's setting auto.create.topics.enable is true.
    existing = sorted(partitions_by_topic().keys() & set(await admin.list_topics()))
    described = await admin.describe_topics(existing) if existing else []
    return {topic["topic"]: len(topic["partitions"]) for topic in described if topic["error_code"] == 0}


async def _create(
    admin: AIOKafkaAdminClient, copies: int | None, partitions: int | None, extend: bool, say: Say
) -> dict[str, int]:
    """Create the missing topics, and return the number of partitions of each created topic."""
    replication = copies or min(COPIES, await _brokers(admin))
    existing = await _partitions(admin)
    # Events of one conversation should be in equally numbered partitions of all topics, so that one process reads them
    # in the log's order.
    largest = max((existing[topic.name] for topic in TOPICS if topic.name in existing), default=None)
    if largest is not None and (partitions is None or not extend or largest > partitions):
        partitions = largest
    missing = [topic for topic in declared_topics(replication, partitions) if topic.name not in existing]
    if not missing:
        return {}
    if copies is None and replication < COPIES:
        say(f"Creating topics with {replication} of {COPIES} replicas (too few brokers): losing one may lose records.")
    response = await admin.create_topics(missing)
    for name, code, *_ in response.topic_errors:
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:
            raise StartError(f"The topic {name} cannot be created: {error.__name__}.")
    return {topic.name: topic.num_partitions for topic in missing}


async def _extend(admin: AIOKafkaAdminClient, partitions: int) -> dict[str, int]:
    """Add partitions to topics with fewer than `partitions`, except dead-letter topics.

    Returns:
        The number of partitions of each changed topic.
    """
    existing = await _partitions(admin)
    small = {topic.name: partitions for topic in TOPICS if existing.get(topic.name, partitions) < partitions}
    if small:
        try:
            await admin.create_partitions({name: NewPartitions(count) for name, count in small.items()})
        except KafkaError as error:
            raise StartError(f"Partitions cannot be added: {type(error).__name__}.") from None
    return small


async def _uncompacted(admin: AIOKafkaAdminClient) -> list[str]:
    """Return the compacted topics from which Kafka may delete the last record of a key.

    Topics whose configuration cannot be read are left out. The request may be denied, and librdkafka's mock cluster
    does not support it.
    """
    keys = dict.fromkeys(("cleanup.policy", "retention.ms", "retention.bytes"))
    resources = [ConfigResource(ConfigResourceType.TOPIC, name, keys) for name in sorted(COMPACTED)]
    try:
        responses = await admin.describe_configs(resources)
    except KafkaError:
        return []
    topics = []
    for response in responses:
        for code, _, _, name, entries in response.resources:
            config = {key: value for key, value, *_ in entries}
            policy = config.get("cleanup.policy", "compact")
            unlimited = config.get("retention.ms") == config.get("retention.bytes") == "-1"
            if code == 0 and ("compact" not in policy or ("delete" in policy and not unlimited)):
                topics.append(name)
    return topics
