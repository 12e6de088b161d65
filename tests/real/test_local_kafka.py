"""The local Kafka: a real broker that keeps its data, survives crashes, and ends with its owner."""

import asyncio
import os
import socket
import sys
import uuid
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from standalone.embedded import kafka_parts
from standalone.embedded.kafka_parts import MAX_RECORD_BATCH_BYTES
from standalone.embedded.local_kafka import LocalKafka, LocalKafkaError

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(240),
]


@pytest.fixture(scope="module")
async def _broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalKafka]:
    async with LocalKafka(tmp_path_factory.mktemp("kafka"), say=print) as running:
        yield running


@pytest.fixture
async def kafka(_broker: LocalKafka) -> LocalKafka:
    """Return the broker that these tests share, restarted if the previous test stopped it."""
    await _broker.start()
    return _broker


async def new_topic(kafka: LocalKafka, partitions: int = 1) -> str:
    name = f"t-{uuid.uuid4().hex}"
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=1)])
    finally:
        await admin.close()
    return name


def producer_for(kafka: LocalKafka, **settings: object) -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, enable_idempotence=True, acks="all", **settings)


async def read(kafka: LocalKafka, topic: str, count: int) -> list[bytes]:
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
    async with consumer:
        consumer.assign([TopicPartition(topic, 0)])
        return [(await consumer.getone()).value for _ in range(count)]


async def test_a_stop_and_a_start_keep_the_records_and_the_address(kafka: LocalKafka) -> None:
    topic, address = await new_topic(kafka), kafka.bootstrap
    async with producer_for(kafka) as producer:
        await producer.send_and_wait(topic, b"kept")

    await kafka.stop()
    assert kafka.pid is None
    await kafka.start()

    assert kafka.bootstrap == address
    assert await read(kafka, topic, 1) == [b"kept"]


async def test_a_kill_keeps_what_was_acknowledged(kafka: LocalKafka) -> None:
    topic = await new_topic(kafka)
    async with producer_for(kafka) as producer:
        await producer.send_and_wait(topic, b"kept")

    kafka.kill()
    await kafka.start()

    assert await read(kafka, topic, 1) == [b"kept"]


async def test_a_producer_waits_while_the_broker_is_frozen(kafka: LocalKafka) -> None:
    topic = await new_topic(kafka)
    async with producer_for(kafka) as producer:
        await producer.send_and_wait(topic, b"before")
        kafka.pause()
        waiting = await producer.send(topic, b"during")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(waiting), 0.5)
        kafka.resume()
        await waiting

    assert await read(kafka, topic, 2) == [b"before", b"during"]


async def test_a_frozen_broker_can_be_stopped(kafka: LocalKafka) -> None:
    kafka.pause()

    await asyncio.wait_for(kafka.stop(), 20)


async def test_two_members_share_a_group_and_a_third_goes_on_after_them(kafka: LocalKafka) -> None:
    topic, group = await new_topic(kafka, partitions=2), uuid.uuid4().hex

    def member() -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            topic,
            bootstrap_servers=kafka.bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
            metadata_max_age_ms=500,
        )

    async with producer_for(kafka) as producer:
        for partition in (0, 1):
            await producer.send_and_wait(topic, b"first", partition=partition)
        async with member() as one, member() as two:
            async with asyncio.timeout(60):
                while {len(one.assignment()), len(two.assignment())} != {1}:
                    await asyncio.gather(one.getmany(timeout_ms=100), two.getmany(timeout_ms=100))
            await asyncio.gather(*(c.commit(dict.fromkeys(c.assignment(), 1)) for c in (one, two)))
        await producer.send_and_wait(topic, b"second", partition=1)
        async with member() as third:
            assert (await third.getone()).value == b"second"


async def test_a_dead_letter_fits_and_unknown_topics_are_not_made(kafka: LocalKafka) -> None:
    topic, largest = await new_topic(kafka), MAX_RECORD_BATCH_BYTES - 4096
    async with producer_for(kafka, max_request_size=MAX_RECORD_BATCH_BYTES) as producer:
        await producer.send_and_wait(topic, b"x" * largest)
    assert [len(value) for value in await read(kafka, topic, 1)] == [largest]

    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await admin.start()
    try:
        await admin.describe_topics(["never-made"])
        assert "never-made" not in await admin.list_topics()
    finally:
        await admin.close()


async def test_transactions_work(kafka: LocalKafka) -> None:
    topic = await new_topic(kafka)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=uuid.uuid4().hex)
    async with producer:
        await producer.begin_transaction()
        await producer.send(topic, b"undone")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send(topic, b"done")

    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=kafka.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    async with consumer:
        assert (await consumer.getone()).value == b"done"


async def test_a_second_run_on_the_directory_is_refused(kafka: LocalKafka) -> None:
    with pytest.raises(LocalKafkaError, match="Another run of agent-feedback"):
        await LocalKafka(kafka._directory).start()


OWNER = """
import asyncio, sys
from pathlib import Path
from standalone.embedded.local_kafka import LocalKafka

async def main() -> None:
    kafka = LocalKafka(Path(sys.argv[1]))
    await kafka.start()
    print(kafka.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_broker_of_a_killed_owner_makes_room_for_the_next(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(tmp_path / "kafka"), stdout=PIPE, env=environment
    )
    assert owner.stdout is not None
    orphan = int(await owner.stdout.readline())
    owner.kill()
    await owner.wait()

    async with LocalKafka(tmp_path / "kafka") as kafka:
        assert kafka.pid not in (None, orphan)


async def test_a_taken_port_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalKafkaError, match=f"Port {port} on 127.0.0.1 is in use"):
            await LocalKafka(tmp_path / "kafka", port=port).start()


async def test_what_kafka_complains_of_is_said(tmp_path: Path) -> None:
    (tmp_path / "kafka" / "data").mkdir(parents=True)
    (tmp_path / "kafka" / "data" / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=x\n")

    with pytest.raises(LocalKafkaError, match=r"did not start in .*node"):
        await LocalKafka(tmp_path / "kafka").start()


async def test_a_missing_java_is_said(tmp_path: Path) -> None:
    with pytest.raises(LocalKafkaError, match=r"There is no Java at .*; name another"):
        await LocalKafka(tmp_path / "kafka", java=tmp_path / "java").start()


async def test_jars_that_nobody_can_fetch_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    said: list[str] = []

    with pytest.raises(LocalKafkaError, match=r"cannot be downloaded from Maven Central .*--broker HOST:PORT"):
        kafka_parts.find_jars(said.append)
    assert len(said) == 1
