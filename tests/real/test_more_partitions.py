"""The move of a running installation's topics to more partitions, on a real Kafka."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from aiokafka.structs import OffsetAndMetadata

from contracts.ids import partition_of
from contracts.topics import CHAT_MESSAGE, ERASURE_REQUESTED, FEEDBACK_AGGREGATED, FEEDBACK_CREATED, TOPICS
from servicekit.errors import StartError
from servicekit.log.members import MARK
from servicekit.log.messages import Message
from servicekit.log.producer import BatchProducer
from servicekit.log.reader import records_of
from servicekit.log.topics import COPIED, MOVING, ensure_topics, partition_counts
from standalone.embedded.local_kafka import LocalKafka
from standalone.operations.grow import TopicMover, grow

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]
LEDGER = FEEDBACK_CREATED.name
COUNT = 24
KEYS = [str(uuid5(UUID(int=0), str(number))) for number in range(300)]


class Written(NamedTuple):
    """Record as a consumer reads it, without its place."""

    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


@pytest.fixture(scope="module")
async def _broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalKafka]:
    async with LocalKafka(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture
async def kafka(_broker: LocalKafka) -> LocalKafka:
    """Return the broker with empty topics of six partitions, and without committed offsets."""
    client = AIOKafkaAdminClient(bootstrap_servers=_broker.bootstrap)
    await client.start()
    await delete(client, *(topic.name for topic in TOPICS))
    await client.close()
    await ensure_topics(_broker.bootstrap)
    return _broker


async def delete(client: AIOKafkaAdminClient, *names: str) -> None:
    await client.delete_topics(list(names))
    while set(names) & set(await client.list_topics()):
        await asyncio.sleep(0)


async def add_partitions(client: AIOKafkaAdminClient, name: str, count: int) -> None:
    await client.create_partitions({name: NewPartitions(count)})
    while (await partition_counts(client))[name] != count:
        await asyncio.sleep(0)


@pytest.fixture
async def admin(kafka: LocalKafka) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await client.start()
    yield client
    await client.close()


async def fill(kafka: LocalKafka, topic: str = LEDGER) -> None:
    """Write three revisions of each key, tombstones of every tenth, and records that are no announcements."""
    producer = BatchProducer(kafka.bootstrap, client_id="test")
    for revision in range(3):
        named = [("revision", str(revision).encode())]
        await producer.send([Message(topic, key, f"{key} {revision}".encode(), named) for key in KEYS])
    await producer.send([Message(topic, key, None, [("revision", b"9")]) for key in KEYS[::10]])
    await producer.send([Message(topic, "no id", b"junk")])
    await producer.stop()


async def read(kafka: LocalKafka, topic: str = LEDGER) -> dict[TopicPartition, list[Written]]:
    """Return all records by partition, in their order."""
    found: dict[TopicPartition, list[Written]] = {}
    async for records in records_of(kafka.bootstrap, [topic]):
        for one in records:
            lane = TopicPartition(one.topic, one.partition)
            found.setdefault(lane, []).append(Written(one.key, one.value, tuple(one.headers)))
    return found


def by_key(found: Mapping[TopicPartition, list[Written]]) -> dict[bytes, list[Written]]:
    ordered: dict[bytes, list[Written]] = {}
    for records in found.values():
        for one in records:
            ordered.setdefault(one.key, []).append(one)
    return ordered


async def commit(kafka: LocalKafka, group: str, offsets: Mapping[int, int], mark: str = "") -> None:
    lanes = {TopicPartition(LEDGER, number): OffsetAndMetadata(offset, mark) for number, offset in offsets.items()}
    async with AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False
    ) as consumer:
        consumer.assign(list(lanes))
        await consumer.commit(lanes)


async def unread(kafka: LocalKafka, admin: AIOKafkaAdminClient, group: str) -> Counter[Written]:
    """Return the records that a consumer of the group would read next."""
    found = await read(kafka)
    offsets = await admin.list_consumer_group_offsets(group)
    return Counter(
        one for lane, records in found.items() for one in records[offsets[lane].offset if lane in offsets else 0 :]
    )


async def agent_feedback(kafka: LocalKafka, *arguments: str) -> tuple[int, Any]:
    """Return exit code and output of the command."""
    full = ["-m", "standalone", *arguments, "--broker", kafka.bootstrap]
    process = await asyncio.create_subprocess_exec(sys.executable, *full, stdout=PIPE, stderr=PIPE)
    out, errors = await process.communicate()
    return process.returncode or 0, json.loads(out) if out else errors.decode()


async def test_every_record_is_moved_once_and_groups_go_on_where_they_were(
    kafka: LocalKafka, admin: AIOKafkaAdminClient
) -> None:
    await fill(kafka)
    before = await read(kafka)
    half = {lane.partition: len(records) // 2 for lane, records in before.items()}
    await commit(kafka, "reporting", half, MARK)
    await commit(kafka, "a-learner", {lane.partition: len(records) for lane, records in before.items()})
    await commit(kafka, "begun-on-one", {3: 5})
    groups = ("reporting", "a-learner", "begun-on-one", "never-read")
    expected = {group: await unread(kafka, admin, group) for group in groups}

    code, grown = await agent_feedback(kafka, "topics", "--grow", str(COUNT), "--json")

    assert code == 0
    assert {one["topic"]: one["records"] for one in grown if one["records"] is not None} == {
        LEDGER: sum(map(len, before.values())),
        FEEDBACK_AGGREGATED.name: 0,
    }
    after = await read(kafka)
    assert by_key(after) == by_key(before)
    assert {lane.partition for lane, records in after.items() for one in records} > set(range(6))
    for lane, records in after.items():
        assert {partition_of(one.key.decode(), COUNT) for one in records} == {lane.partition}
    assert {group: await unread(kafka, admin, group) for group in groups} == expected
    assert {one.metadata for one in (await admin.list_consumer_group_offsets("reporting")).values()} == {MARK}
    counts = await partition_counts(admin)
    assert {topic.name: counts[topic.name] for topic in TOPICS} == {
        topic.name: COUNT if topic.may_grow else 6 for topic in TOPICS
    }
    assert counts[ERASURE_REQUESTED.name] == 6
    assert not [name for name in await admin.list_topics() if name.endswith((MOVING, COPIED))]
    await ensure_topics(kafka.bootstrap)
    assert await agent_feedback(kafka, "topics", "--grow", str(COUNT), "--json") == (0, [])


async def test_a_tombstone_without_a_revision_gets_the_time_of_the_log_as_its_readers_take_it(
    kafka: LocalKafka,
) -> None:
    producer = BatchProducer(kafka.bootstrap, client_id="test")
    await producer.send([Message(LEDGER, KEYS[0], None)])
    await producer.stop()
    (time,) = [one.timestamp async for records in records_of(kafka.bootstrap, [LEDGER]) for one in records]
    await grow(kafka.bootstrap, COUNT)
    (moved,) = by_key(await read(kafka))[KEYS[0].encode()]
    assert moved.headers == (("revision", str(time).encode()),)


class Killed(BaseException):
    """The end of a killed process: nothing handles it."""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        *(("_delete", number) for number in range(1, 6)),
        *(("_copy", number) for number in (1, 2)),
        *(("_commit", number) for number in (1, 2)),
        *(("_send", number) for number in (500, 1_400)),
    ],
)
async def test_a_killed_move_goes_on_and_no_service_starts_before(
    kafka: LocalKafka, admin: AIOKafkaAdminClient, monkeypatch: pytest.MonkeyPatch, name: str, call: int
) -> None:
    """The process is killed before each deletion and commit, and before and within each copy."""
    await fill(kafka)
    before = await read(kafka)
    await commit(kafka, "reporting", {lane.partition: len(records) // 2 for lane, records in before.items()}, MARK)
    expected = await unread(kafka, admin, "reporting")
    found, left = getattr(TopicMover, name), call

    async def stepped(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed
        return await found(*arguments)

    monkeypatch.setattr(TopicMover, name, stepped)
    with pytest.raises(Killed):
        await ledger_moved(kafka, admin)
    monkeypatch.undo()
    if set(await admin.list_topics()) & {LEDGER + MOVING, LEDGER + COPIED}:
        with pytest.raises(StartError, match="is not complete"):
            await ensure_topics(kafka.bootstrap)
    await grow(kafka.bootstrap, COUNT)
    assert by_key(await read(kafka)) == by_key(before)
    assert await unread(kafka, admin, "reporting") == expected
    await ensure_topics(kafka.bootstrap)


async def ledger_moved(kafka: LocalKafka, admin: AIOKafkaAdminClient) -> None:
    await TopicMover(kafka.bootstrap, admin, COUNT, print).move(FEEDBACK_CREATED)


async def test_a_move_needs_stopped_consumers_and_a_greater_number(
    kafka: LocalKafka, admin: AIOKafkaAdminClient
) -> None:
    await fill(kafka)
    async with AIOKafkaConsumer(LEDGER, bootstrap_servers=kafka.bootstrap, group_id="reporting") as member:
        await member.getmany(timeout_ms=5_000)
        code, said = await agent_feedback(kafka, "topics", "--grow", str(COUNT))
        assert (code, "The group reporting has 1 members" in said) == (3, True)
    await add_partitions(admin, CHAT_MESSAGE.name, 30)
    code, said = await agent_feedback(kafka, "topics", "--grow", str(COUNT))
    assert (code, f"{CHAT_MESSAGE.name} has 30 partitions" in said) == (3, True)
    assert (await partition_counts(admin))[LEDGER] == 6


async def test_partitions_added_by_hand_are_refused_at_start(kafka: LocalKafka, admin: AIOKafkaAdminClient) -> None:
    await fill(kafka)
    await ensure_topics(kafka.bootstrap, create=False)
    await add_partitions(admin, LEDGER, 12)
    with pytest.raises(StartError, match=r"feedback\.created got partitions"):
        await ensure_topics(kafka.bootstrap, create=False)


async def test_erasure_requests_keep_their_partitions(kafka: LocalKafka, admin: AIOKafkaAdminClient) -> None:
    await add_partitions(admin, ERASURE_REQUESTED.name, 12)
    with pytest.raises(StartError, match="must have 6"):
        await ensure_topics(kafka.bootstrap, create=False)


async def test_a_cluster_without_topics_gets_24_partitions_and_later_topics_as_many(
    kafka: LocalKafka, admin: AIOKafkaAdminClient
) -> None:
    await delete(admin, *(topic.name for topic in TOPICS))
    code, _ = await agent_feedback(kafka, "topics", "--create", "--json")
    assert (code, (await partition_counts(admin))[LEDGER]) == (0, 24)
    await delete(admin, CHAT_MESSAGE.name)
    await ensure_topics(kafka.bootstrap)
    assert (await partition_counts(admin))[CHAT_MESSAGE.name] == 24
