"""docs/backup.md for the loss of Kafka or of one topic, with PostgreSQL intact."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import asyncpg
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
from tests.support.command import COMMAND, agent_feedback, state_folder
from tests.support.databases import server_folder
from tests.support.local_kafka import LocalKafka
from tests.support.recovery import ALL_TIME, Installation, assert_recovered, assert_said, events
from tests.support.replicas import Pair, execute, pair

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


@pytest.mark.real
@pytest.mark.timeout(600)
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


@pytest.mark.real
@pytest.mark.timeout(600)
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


@pytest.mark.real
@pytest.mark.timeout(600)
async def test_a_lost_ledger_is_published_again(place: Installation) -> None:
    before = await place.ledger()
    await _delete(place.kafka.bootstrap, FEEDBACK_CREATED.name)
    made = await agent_feedback("topics", "--create", "--broker", place.kafka.bootstrap)
    assert made.code == 0, made.err
    assert (await place.command("ledger", "verify", code=1))["missing"] == len(before.highest)
    await place.command("ledger", "republish")
    await place.process()
    await assert_recovered(place, before, EARLY)


@pytest.mark.real
@pytest.mark.timeout(600)
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


# A streaming replica of PostgreSQL is promoted after the primary died: nothing that was acknowledged is missing.

EARLY_FAILOVER, LATE_FAILOVER = events(0, 30), events(30, 50, takes_back=True)


@pytest.mark.real
@pytest.mark.timeout(400)
async def test_nothing_acknowledged_is_lost_with_remote_apply(tmp_path: Path) -> None:
    async with pair() as servers, LocalKafka(tmp_path / "kafka") as kafka:
        await servers.wait_for("remote_apply")
        place = Installation(servers.folder, kafka, servers.primary.url)
        await place.process(EARLY_FAILOVER)
        await place.process(LATE_FAILOVER)
        before = await place.ledger()
        place.database_url = await servers.fail_over()
        # At once: the groups have committed everything, so nothing would be read again.
        await assert_recovered(place, before, EARLY_FAILOVER + LATE_FAILOVER)
        # With both addresses the services find the new primary by themselves.
        place.database_url = servers.both()
        await place.process(events(50, 55))
        assert (await place.command("ledger", "verify"))["first_difference"] is None


@pytest.mark.real
@pytest.mark.timeout(400)
async def test_an_asynchronous_replica_lacks_commits_and_reading_again_brings_them_back(tmp_path: Path) -> None:
    async with pair() as servers, LocalKafka(tmp_path / "kafka") as kafka:
        place = Installation(servers.folder, kafka, servers.primary.url)
        await place.process(EARLY_FAILOVER)
        await _caught_up(servers)
        await execute(servers.primary.url, "select pg_terminate_backend(pid) from pg_stat_replication")
        await execute(servers.replica.url, "alter system set primary_conninfo = ''", "select pg_reload_conf()")
        await place.process(LATE_FAILOVER)
        before = await place.ledger()
        place.database_url = await servers.fail_over()
        facts = await place.command("ledger", "verify", code=1)
        assert facts["extra"] + facts["differing"] > 0, "the replica had everything: the test shows nothing"
        await place.command("ledger", "rewind", "--to", "earliest", store=False)
        await place.process()
        await place.command("ledger", "republish", "--restored")
        await place.rebuild_reports()
        await assert_recovered(place, before, EARLY_FAILOVER + LATE_FAILOVER)


async def _caught_up(servers: Pair) -> None:
    connection = await asyncpg.connect(servers.primary.url)
    behind = "select pg_current_wal_lsn() - replay_lsn from pg_stat_replication"
    async with asyncio.timeout(60):
        while (left := await connection.fetchval(behind)) is None or left > 0:
            await connection.fetchval("select pg_sleep(0.02)")
    await connection.close()


# A batch run whose broker dies ends with a sentence instead of waiting without end.


@pytest.mark.real
@pytest.mark.timeout(240)
@pytest.mark.parametrize("lose", [LocalKafka.kill, LocalKafka.pause], ids=["killed", "frozen"])
async def test_a_batch_run_whose_broker_is_lost_ends_with_a_sentence(
    lose: Callable[[LocalKafka], None], tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    with file.open("w") as lines:
        for number in range(100_000):
            event = {
                "topic": "chat.message.ingested",
                "eventId": f"e{number}",
                "occurredAt": "2026-01-01T10:00:00Z",
                "tenant": "acme",
                "project": "support",
                "messageId": f"m{number}",
                "conversationId": f"c{number % 500}",
                "senderId": "bot",
                "senderType": "agent",
                "agentId": "bot",
                "content": "It opens at nine.",
            }
            lines.write(json.dumps(event) + "\n")
    async with LocalKafka(tmp_path / "kafka") as kafka, state_folder() as state:
        arguments = ("up", "--exit", "--broker", kafka.bootstrap, "--state", str(state), "--replay", str(file))
        process = await asyncio.create_subprocess_exec(COMMAND, *arguments, stdout=PIPE, stderr=PIPE)
        try:
            assert process.stderr is not None
            async with asyncio.timeout(120):
                while b"Ready after" not in (line := await process.stderr.readline()):
                    assert line, "it ended before it was ready"
            lose(kafka)
            async with asyncio.timeout(90):
                out, err = await process.communicate()
        finally:
            kafka.resume()
            if process.returncode is None:
                process.kill()
    last = err.decode().strip().splitlines()[-1]
    assert last == f"The broker at {kafka.bootstrap} has not answered for 20 s: stopped before the end of the input.", (
        err.decode()
    )
    assert (process.returncode, out) == (1, b"")
    assert "Traceback" not in err.decode()
