"""Creation and validation of the topics on a cluster, by the topic table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from contracts.topics import DAY_MS, DEAD_LETTER_PARTITIONS, FEEDBACK_CREATED, TOPICS, Topic
from servicekit.errors import StartError
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.placement import has_misplaced_records
from servicekit.log.settings import MESSAGE_LIMIT

DEAD_LETTER_DAYS = 7
"""Retention of dead letters in days, that of the topics whose texts they may contain."""
COPIES = 3
"""Replicas of each partition, if there are so many brokers."""
MOVING = ".moving"
"""Suffix of the copy of a topic that `agent-feedback topics --grow` moves; it exists until the move is complete."""
COPIED = ".copied"
"""Suffix of an empty topic, which exists from the time when the copy is complete until it is removed."""
_VISIBLE_TRIES = 50
"""Number of checks, 0.2 s apart, for a new topic, which is visible some time after the broker's response."""
Say = Callable[[str], None]


def partitions_by_topic() -> dict[str, int]:
    """Return every topic and dead-letter topic with its number of partitions."""
    counts = {topic.name: topic.partitions for topic in TOPICS}
    return counts | {topic.dead_letters: DEAD_LETTER_PARTITIONS for topic in TOPICS}


def topic_config(topic: Topic, replication: int) -> dict[str, str]:
    """Return the broker's settings for `topic`: the log's own time, its retention, and compaction within a day."""
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
    """Return every topic and dead-letter topic in the form for the cluster, with `replication` replicas.

    Topics that may grow get `partitions`; None means the number of one process.
    """
    letters = {"retention.ms": str(DEAD_LETTER_DAYS * DAY_MS), **_durability(replication)}
    return [
        NewTopic(
            topic.name,
            partitions if partitions and topic.may_grow else topic.partitions,
            replication,
            topic_configs=topic_config(topic, replication),
        )
        for topic in TOPICS
    ] + [NewTopic(topic.dead_letters, DEAD_LETTER_PARTITIONS, replication, topic_configs=letters) for topic in TOPICS]


def _durability(replication: int) -> dict[str, str]:
    """Return the settings for size and durability. With three replicas or more, two must acknowledge a record."""
    kept = {"min.insync.replicas": "2"} if replication >= 3 else {}
    return {"max.message.bytes": str(MESSAGE_LIMIT + 100_000), **kept}


async def wait_for_broker(bootstrap: Bootstrap, say: Say) -> AIOKafkaAdminClient:
    """Return a connected admin client; wait while the broker does not respond, and report that every few seconds."""
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
    create: bool = True,
    say: Say = lambda _: None,
) -> None:
    """Create missing topics, and reject a cluster on which a key's records may be on two partitions.

    `replication` None: three replicas of each partition, or as many as there are brokers. `partitions` is the number of
    a cluster without topics; topics that are added later get that of `feedback.created`. Raises StartError.
    """
    admin = await wait_for_broker(bootstrap, say)
    try:
        existing = await partition_counts(admin)
        if moving := moving_topics(await admin.list_topics()):
            raise StartError(
                f"The move of {moving[0]} to more partitions on {bootstrap} is not complete: "
                "run `agent-feedback topics --grow` again."
            )
        partitions = existing.get(FEEDBACK_CREATED.name, partitions)
        made = await _create(admin, replication, partitions, say) if create else set[str]()
        found = await partition_counts(admin)
        for _ in range(_VISIBLE_TRIES):
            if made <= found.keys():
                break
            await asyncio.sleep(0.2)
            found = await partition_counts(admin)
    finally:
        await admin.close()
    for topic in TOPICS:
        for name in (topic.name, topic.dead_letters):
            if name not in found:
                raise StartError(f"The topic {name} is missing on {bootstrap}: run `agent-feedback topics --create`.")
        if topic.compacted:
            await _check_count(bootstrap, topic, found[topic.name])


async def _check_count(bootstrap: Bootstrap, topic: Topic, count: int) -> None:
    """Raise StartError if records of one key may be on two partitions of the compacted `topic`."""
    if count == topic.partitions:
        return
    if not topic.may_grow or count < topic.partitions:
        raise StartError(
            f"{topic.name} has {count} partitions on {bootstrap} and must have {topic.partitions}: "
            "its partition count is fixed for its life."
        )
    if await has_misplaced_records(bootstrap, topic.name, count):
        raise StartError(
            f"{topic.name} got partitions on {bootstrap} while it had records, so that records of one key are on two "
            "partitions. Restore it as docs/operations.md says, and add partitions with `agent-feedback topics --grow`."
        )


async def _brokers(admin: AIOKafkaAdminClient) -> int:
    return len((await admin.describe_cluster())["brokers"])


def moving_topics(names: Collection[str]) -> list[str]:
    """Return our topics whose move to more partitions is not complete, from the names on the cluster."""
    return [topic.name for topic in TOPICS if topic.name + MOVING in names or topic.name + COPIED in names]


async def partition_counts(admin: AIOKafkaAdminClient) -> dict[str, int]:
    """Return the number of partitions of each of our topics and dead-letter topics that exists."""
    described = await admin.describe_topics(list(partitions_by_topic()))
    return {topic["topic"]: len(topic["partitions"]) for topic in described if topic["error_code"] == 0}


async def _create(admin: AIOKafkaAdminClient, copies: int | None, partitions: int | None, say: Say) -> set[str]:
    """Create missing topics; return their names."""
    replication = copies or min(COPIES, await _brokers(admin))
    existing = set(await admin.list_topics())
    missing = [topic for topic in declared_topics(replication, partitions) if topic.name not in existing]
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
