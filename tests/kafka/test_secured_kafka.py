"""All our clients connect to a Kafka that requires TLS and a user, and no other client does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from contracts.topics import CHAT_REACTION
from servicekit.errors import LogUnavailable
from servicekit.log.cluster import Bootstrap, cluster_at
from servicekit.log.producer import BatchProducer
from servicekit.log.reader import records_of
from servicekit.log.records import Message
from servicekit.log.settings import Mechanism
from servicekit.log.topics import ensure_topics, partitions_by_topic
from tests.support.command import agent_feedback
from tests.support.group_reading import reading
from tests.support.local_kafka import LocalKafka
from tests.support.secured_kafka import PASSWORD, USER, SecuredKafka
from tests.support.waits import PATIENCE_SECONDS

REACTION = CHAT_REACTION.name


@pytest.fixture(scope="module")
async def kafka(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SecuredKafka]:
    async with SecuredKafka(tmp_path_factory.mktemp("secured") / "kafka") as kafka:
        yield kafka


@pytest.fixture
def settings(kafka: SecuredKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment of a service that may use the secured listener; its password is in a file."""
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    files = kafka.certificates
    for name, value in {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_USERNAME": USER,
        "SASL_PASSWORD_FILE": password,
        "SSL_CA": files.ca,
        "SSL_CERT": files.client,
        "SSL_KEY": files.client_key,
    }.items():
        monkeypatch.setenv(f"KAFKA_{name}", str(value))


@pytest.mark.real
@pytest.mark.timeout(120)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_all_clients_get_in(
    kafka: SecuredKafka, settings: None, mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_SASL_MECHANISM", mechanism)
    cluster = cluster_at(kafka.secured)
    await ensure_topics(cluster)
    before = await count(cluster)
    producer = BatchProducer(cluster, client_id="agent-feedback-test")
    async with reading("chat_bridge", producer) as (_, commits):
        await producer.send([Message(REACTION, "key", b"no JSON", partition=0)])
        async with asyncio.timeout(PATIENCE_SECONDS):
            while sum(commits.offsets.values()) != before + 1:
                await commits.next()
    await producer.stop()
    assert await count(cluster) == before + 1


async def count(cluster: Bootstrap) -> int:
    return sum([len(records) async for records in records_of(cluster, [REACTION])])


@pytest.mark.real
@pytest.mark.timeout(120)
async def test_commands_get_in(kafka: SecuredKafka, settings: None) -> None:
    made = await agent_feedback("topics", "--create", "--broker", kafka.secured, "--json")
    assert made.code == 0
    listed = await agent_feedback("dlq", "list", "--broker", kafka.secured, "--json")
    assert listed.code == 0


@pytest.mark.real
@pytest.mark.timeout(120)
async def test_without_the_password_nobody_gets_in(
    kafka: SecuredKafka, settings: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_SASL_PASSWORD", "another")
    producer = BatchProducer(cluster_at(kafka.secured), client_id="agent-feedback-test")
    with pytest.raises(LogUnavailable):
        await producer.send([Message(REACTION, "key", b"no JSON")])


# docs/deployment.md's section "Run on your own Kafka", on a cluster of one broker.


@pytest.mark.real
async def test_topics_are_made_with_as_many_copies_as_there_are_brokers(tmp_path: Path) -> None:
    async with LocalKafka(tmp_path / "kafka") as kafka:
        made = await agent_feedback("topics", "--create", "--broker", kafka.bootstrap)
        assert made.code == 0, made.err
        assert "1 of 3 replicas" in made.err
        again = await agent_feedback("topics", "--create", "--broker", kafka.bootstrap)
        assert again.code == 0, again.err
        assert "replicas" not in again.err
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        await admin.start()
        try:
            described = await admin.describe_topics(list(partitions_by_topic()))
        finally:
            await admin.close()
    copies = {len(partition["replicas"]) for topic in described for partition in topic["partitions"]}
    assert (len(described), copies) == (len(partitions_by_topic()), {1})
