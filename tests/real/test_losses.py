"""docs/backup.md for the loss of Kafka or of one topic, with PostgreSQL intact."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from contracts.topics import (
    CHAT_MESSAGE,
    CHAT_REACTION,
    CHAT_REPLY,
    EXPLICIT_RECEIVED,
    FEEDBACK_CREATED,
    INFERRED_RECEIVED,
    KAFKA_PARTITIONS,
    REACTION_RECEIVED,
    REPLY_RECEIVED,
    SESSION_CREATED,
    Topic,
)
from servicekit.log.cluster import Cluster
from servicekit.log.reader import records_of
from servicekit.log.topics import ensure_topics
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.command import agent_feedback
from tests.support.local_kafka import LocalKafka
from tests.support.recovery import ALL_TIME, Installation, assert_recovered, assert_said, events
from tests.support.server_folders import server_folder

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

LOSSES: Sequence[tuple[Sequence[Topic], str | None]] = (
    ([REPLY_RECEIVED, REACTION_RECEIVED], "chat_bridge"),
    ([INFERRED_RECEIVED], "inference"),
    ([EXPLICIT_RECEIVED, SESSION_CREATED], None),
    ([CHAT_MESSAGE, CHAT_REPLY, CHAT_REACTION], None),
)
"""Lost topics, and the group that makes their records again."""
EARLY, LATE = events(0, 30), events(30, 40, takes_back=True)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Installation]:
    with server_folder() as named:
        folder = Path(named)
        async with LocalKafka(tmp_path / "kafka") as kafka, EmbeddedPostgres(folder / "data") as server:
            place = Installation(folder, kafka, server.url)
            await place.process(EARLY)
            yield place


async def test_after_the_loss_of_kafka_the_ledger_is_published_to_another(place: Installation, tmp_path: Path) -> None:
    before = await place.ledger()
    async with LocalKafka(tmp_path / "another") as kafka:
        place.kafka = kafka
        made = await agent_feedback("topics", "--create", "--broker", kafka.bootstrap)
        assert made.code == 0, made.err
        await place.command("ledger", "republish")
        await place.process()
        await assert_recovered(place, before, EARLY)
        # Reactions to messages that only the lost log had still find them.
        await place.process(LATE)
        await assert_said(place.database_url, EARLY + LATE)
        assert (await place.command("ledger", "verify"))["first_difference"] is None


async def test_topics_copied_to_another_kafka_rebuild_everything(place: Installation, tmp_path: Path) -> None:
    """A copy of the topics is a backup of its own: the databases start empty."""
    before = await place.ledger()
    async with (
        LocalKafka(tmp_path / "another") as kafka,
        EmbeddedPostgres(place.folder / "empty") as server,
    ):
        await ensure_topics(kafka.bootstrap, partitions=KAFKA_PARTITIONS)
        await _copy(place.kafka.bootstrap, kafka.bootstrap, [CHAT_MESSAGE, CHAT_REPLY, CHAT_REACTION, FEEDBACK_CREATED])
        place.kafka, place.database_url = kafka, server.url
        await place.process()
        await place.command("ledger", "republish", "--restored")
        await place.rebuild_reports()
        await assert_recovered(place, before, EARLY)


async def test_a_lost_ledger_is_published_again(place: Installation) -> None:
    before = await place.ledger()
    await _delete(place.kafka.bootstrap, FEEDBACK_CREATED.name)
    made = await agent_feedback("topics", "--create", "--broker", place.kafka.bootstrap)
    assert made.code == 0, made.err
    assert (await place.command("ledger", "verify", code=1))["missing"] == len(before.highest)
    await place.command("ledger", "republish")
    await place.process()
    await assert_recovered(place, before, EARLY)


async def test_a_lost_topic_takes_nothing_that_was_processed(place: Installation) -> None:
    before = await place.ledger()
    for topics, group in LOSSES:
        await _delete(place.kafka.bootstrap, *(topic.name for topic in topics))
        made = await agent_feedback("topics", "--create", "--broker", place.kafka.bootstrap)
        assert made.code == 0, made.err
        if group:
            again = await place.command("ledger", "rewind", "--group", group, "--to", ALL_TIME, store=False)
            assert again[group] > 0
        await place.process()
        await assert_recovered(place, before, EARLY)
    await place.process(LATE)
    await assert_said(place.database_url, EARLY + LATE)


async def _copy(source: str, target: str, topics: Sequence[Topic]) -> None:
    """Copy records with key, value and headers to the same partition, as MirrorMaker does."""
    producer = AIOKafkaProducer(bootstrap_servers=target, max_request_size=2_000_000)
    async with producer:
        async for records in records_of(Cluster(source), [topic.name for topic in topics]):
            for one in records:
                at = TopicPartition(one.topic, one.partition)
                await producer.send(at.topic, one.value, one.key, at.partition, headers=list(one.headers))


async def _delete(bootstrap: str, *topics: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.delete_topics(list(topics))
        while set(topics) & set(await admin.list_topics()):
            pass
    finally:
        await admin.close()
