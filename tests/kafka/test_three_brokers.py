"""Acknowledged records survive the loss of a broker, and a replica that lacks them never leads."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.errors import KafkaError

from servicekit.log.topics import ensure_topics
from tests.support.recovery import Installation, assert_said, events
from tests.support.three_brokers import NODES, Admin, ThreeBrokers

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def brokers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ThreeBrokers]:
    async with ThreeBrokers(tmp_path_factory.mktemp("three")) as started:
        yield started


async def test_topics_have_three_replicas_of_which_two_must_acknowledge(brokers: ThreeBrokers) -> None:
    said: list[str] = []
    await ensure_topics(brokers.bootstrap, say=said.append)
    assert not said
    await brokers.in_sync()
    assert all(replicas == set(NODES) for _, replicas, _ in await brokers.partitions())


async def test_all_services_run_on_several_addresses_of_which_the_first_is_down(
    brokers: ThreeBrokers, own_database: str, tmp_path: Path
) -> None:
    lines = events(0, 5)
    place = Installation(tmp_path, brokers, own_database)
    await brokers.nodes[1].stop()
    try:
        await place.process(lines)
    finally:
        await brokers.nodes[1].start()
    await assert_said(own_database, lines)
    assert (await place.command("ledger", "verify"))["first_difference"] is None
    await brokers.in_sync()


async def test_a_leader_without_followers_acknowledges_nothing(brokers: ThreeBrokers) -> None:
    await _create(brokers, "two-must-acknowledge", 3, {"min.insync.replicas": "2"})
    await _write(brokers, "two-must-acknowledge", b"before")
    for node in NODES:
        brokers.isolate(node)
    try:
        with pytest.raises((KafkaError, TimeoutError)):
            await _write(brokers, "two-must-acknowledge", b"nobody else has this", seconds=6)
    finally:
        brokers.heal()
    await brokers.in_sync()
    await _write(brokers, "two-must-acknowledge", b"after")
    found = await _read(brokers, "two-must-acknowledge")
    # A record without an acknowledgement may be there or not.
    assert [value for value in found if value != b"nobody else has this"] == [b"before", b"after"]


async def test_an_isolated_leader_is_replaced_and_takes_over_the_others_records(brokers: ThreeBrokers) -> None:
    await _create(brokers, "isolated-leader", 3, {"min.insync.replicas": "2"})
    await _write(brokers, "isolated-leader", b"before")
    leader = await brokers.leader_of("isolated-leader")
    brokers.isolate(leader)
    try:

        async def another_leads() -> bool:
            return await _leader_beside(brokers, leader, "isolated-leader") not in (leader, -1)

        await brokers.until(another_leads)
        others = [broker.bootstrap for node, broker in brokers.nodes.items() if node != leader]

        async def is_acknowledged() -> bool:
            # The client may learn from the isolated broker that it still leads.
            await _write(brokers, "isolated-leader", b"meanwhile", at=",".join(others), seconds=6)
            return True

        await brokers.until(is_acknowledged)
    finally:
        brokers.heal()
    await brokers.in_sync()
    await _write(brokers, "isolated-leader", b"after")
    assert [*dict.fromkeys(await _read(brokers, "isolated-leader"))] == [b"before", b"meanwhile", b"after"]


async def test_a_replica_that_lacks_records_does_not_become_leader(brokers: ThreeBrokers) -> None:
    first, second, third = NODES
    await _create(brokers, "one-may-acknowledge", {0: [first, second]}, {"min.insync.replicas": "1"})
    await _write(brokers, "one-may-acknowledge", b"both")
    brokers.isolate(second)

    async def only_the_first_is_in_sync() -> bool:
        return (await brokers.partitions("one-may-acknowledge"))[0][2] == {first}

    await brokers.until(only_the_first_is_in_sync)
    await _write(brokers, "one-may-acknowledge", b"only the first")
    brokers.nodes[first].kill()
    brokers.heal()

    async def the_first_is_gone() -> bool:
        return await brokers.known() == {second, third}

    await brokers.until(the_first_is_gone)
    assert (await brokers.partitions("one-may-acknowledge"))[0][0] == -1
    with pytest.raises((KafkaError, TimeoutError)):
        await _write(brokers, "one-may-acknowledge", b"must not be accepted", seconds=6)
    await brokers.nodes[first].start()
    await brokers.in_sync()
    assert await _read(brokers, "one-may-acknowledge") == [b"both", b"only the first"]


async def test_a_broker_with_a_full_disk_leaves_and_comes_back(brokers: ThreeBrokers) -> None:
    await _create(brokers, "full-disk", 3, {"min.insync.replicas": "2"})
    await _write(brokers, "full-disk", b"before")
    broker = brokers.nodes[3]
    await broker.stop()
    with _small_disk(broker.directory) as disk:
        await broker.start()
        await brokers.in_sync()
        filling = disk / "filling"
        with filling.open("wb") as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
        # Until the broker writes, it does not notice.
        written = [b"%d" % n + bytes(200_000) for n in range(30)]
        for value in written:
            await _write(brokers, "full-disk", value)

        async def has_left() -> bool:
            return 3 not in (await brokers.partitions("full-disk"))[0][2]

        await brokers.until(has_left)
        await _write(brokers, "full-disk", b"after")
        await broker.stop()
        filling.unlink()
        await broker.start()
        await brokers.in_sync()
        assert await _read(brokers, "full-disk") == [b"before", *written, b"after"]
        await broker.stop()
    await broker.start()


@contextmanager
def _small_disk(directory: Path) -> Iterator[Path]:
    """Move a stopped broker's data to a disk of 300 MB for the duration; skip the test if this user may not mount."""
    aside = directory.with_name(f"{directory.name}-aside")
    shutil.copytree(directory, aside)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", directory], check=False).returncode:
        pytest.skip("a full disk: this user may not mount one")
    try:
        shutil.copytree(aside, directory, dirs_exist_ok=True)
        yield directory
        shutil.rmtree(aside)
        shutil.copytree(directory, aside)
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)
        shutil.copytree(aside, directory, dirs_exist_ok=True)
        shutil.rmtree(aside)


async def _create(
    brokers: ThreeBrokers, topic: str, replicas: int | dict[int, list[int]], settings: dict[str, str]
) -> None:
    new = (
        NewTopic(topic, 1, replicas, topic_configs=settings)
        if isinstance(replicas, int)
        else NewTopic(topic, -1, -1, replica_assignments=replicas, topic_configs=settings)
    )

    async def is_created() -> bool:
        async with Admin(brokers.bootstrap) as admin:
            if topic not in await admin.list_topics():
                try:
                    await admin.create_topics([new])
                except AttributeError:  # aiokafka does not know a controller yet
                    return False
        return await brokers.leader_of(topic) > 0

    await brokers.until(is_created)
    await brokers.in_sync()


async def _write(brokers: ThreeBrokers, topic: str, value: bytes, *, at: str = "", seconds: float = 60) -> None:
    """Write a record once, with acknowledgements from all in-sync replicas. Raises an error without them in time."""
    producer = AIOKafkaProducer(
        bootstrap_servers=at or brokers.bootstrap, enable_idempotence=True, request_timeout_ms=int(seconds * 1_000)
    )
    try:
        async with asyncio.timeout(seconds + 2):
            await producer.start()
            await producer.send_and_wait(topic, value, partition=0)
    finally:
        # A batch that is still waiting would hold up the end.
        stopping = asyncio.create_task(producer.stop())
        await asyncio.wait({stopping}, timeout=10)
        stopping.cancel()


async def _read(brokers: ThreeBrokers, topic: str) -> list[bytes | None]:
    consumer = AIOKafkaConsumer(bootstrap_servers=brokers.bootstrap, auto_offset_reset="earliest")
    async with consumer:
        lane = TopicPartition(topic, 0)
        consumer.assign([lane])
        end = (await consumer.end_offsets([lane]))[lane]
        found = []
        while await consumer.position(lane) < end:
            found += (await consumer.getmany(timeout_ms=1_000)).get(lane, [])
        return [record.value for record in found]


async def _leader_beside(brokers: ThreeBrokers, node: int, topic: str) -> int:
    """Return the leader in the view of the brokers other than `node`."""
    others = [broker.bootstrap for other, broker in brokers.nodes.items() if other != node]
    async with Admin(others[0]) as admin:
        [described] = await admin.describe_topics([topic])
    return int(described["partitions"][0]["leader"])
