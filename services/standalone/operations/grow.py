"""Move of a cluster's topics to more partitions, while the services are stopped.

A topic that expires gets partitions in place: its events are merged in any order. A compacted topic must keep all
records of a key on one partition, and Kafka moves no records. So its records are copied to a topic with the suffix
`.moving`, it is created again, and they are copied back. A topic with the suffix `.copied` marks the copy as complete,
and only then the original is deleted. While one of the two exists no service starts, and the same command goes on after
a crash.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError, for_code
from aiokafka.structs import OffsetAndMetadata

from contracts.headers import REVISION, revision_named
from contracts.murmur2 import murmur2
from contracts.topics import FOREVER, TOPICS, Topic
from servicekit.errors import StartError
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.members import members_in
from servicekit.log.reader import records_of
from servicekit.log.records import RefusedBatch
from servicekit.log.settings import PRODUCER_SETTINGS
from servicekit.log.topics import COPIED, MOVING, partition_counts, topic_config
from standalone.operations.log_access import admin_of
from standalone.operations.rewind import GROUPS
from standalone.terminal import say

_VISIBLE_TRIES: Final = 150
"""Number of checks, 0.2 s apart, until a created or deleted topic is visible as such."""
Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class Grown(NamedTuple):
    """Topic with its partition counts before and after, and the number of copied records, None if none was needed."""

    topic: str
    before: int
    after: int
    records: int | None


async def grow(bootstrap: Bootstrap, count: int, progress: Callable[[str], None] = say) -> list[Grown]:
    """Move every topic that may grow to `count` partitions; return the changed ones.

    Groups continue where they were: each unread record stays unread. Raises StartError, before any change, if a group
    has members or a topic has more partitions.
    """
    admin = await admin_of(bootstrap)
    try:
        mover = TopicMover(bootstrap, admin, count, progress)
        await mover.check()
        return [one for topic in TOPICS if topic.may_grow and (one := await mover.move(topic)) is not None]
    except (KafkaError, OSError) as error:
        raise StartError(f"The log failed ({type(error).__name__}). Run the same command again: it goes on.") from error
    finally:
        await admin.close()


class TopicMover:
    """Moves topics of one cluster to `count` partitions."""

    def __init__(
        self, bootstrap: Bootstrap, admin: AIOKafkaAdminClient, count: int, progress: Callable[[str], None]
    ) -> None:
        self._bootstrap = bootstrap
        self._admin = admin
        self._count = count
        self._progress = progress

    async def check(self) -> None:
        """Raise StartError if the topics cannot be moved now."""
        counts = await partition_counts(self._admin)
        for topic in TOPICS:
            if topic.may_grow and not topic.compacted and topic.name not in counts:
                raise StartError(f"The topic {topic.name} is missing: run `agent-feedback topics --create`.")
            if topic.may_grow and (found := counts.get(topic.name, 0)) > self._count:
                raise StartError(f"{topic.name} has {found} partitions. Kafka cannot take any away.")
        for group in sorted({*GROUPS, *await self._groups()}):
            members = members_in(await self._admin.describe_consumer_groups([group]))
            if members and (group in GROUPS or await self._reads_ours(group)):
                raise StartError(
                    f"The group {group} has {len(members)} members: stop all services and all consumers of "
                    "feedback.created first, and wait ten seconds for those that were killed."
                )

    async def move(self, topic: Topic) -> Grown | None:
        """Move one topic; return None if it has the count already."""
        before = await self._partitions(topic.name)
        copied, is_complete = await self._partitions(topic.name + MOVING), await self._partitions(topic.name + COPIED)
        if is_complete and is_complete != self._count:
            raise StartError(f"The move of {topic.name} to {is_complete} partitions is not complete: use that number.")
        if is_complete and not copied:  # the command was killed after its last step but one
            await self._delete(topic.name + COPIED)
            return Grown(topic.name, before, self._count, None)
        if is_complete:
            return Grown(topic.name, before, self._count, await self._copy_back(topic))
        if copied and before == self._count:
            await self._delete(topic.name + MOVING)
        if before == self._count:
            return None
        if not before:
            raise StartError(f"The topic {topic.name} is missing: run `agent-feedback topics --create`.")
        if topic.compacted:
            await self._copy_out(topic)
            return Grown(topic.name, before, self._count, await self._copy_back(topic))
        await self._admin.create_partitions({topic.name: NewPartitions(self._count)})
        await self._wait(topic.name, self._count)
        return Grown(topic.name, before, self._count, None)

    async def _copy_out(self, topic: Topic) -> None:
        """Copy the records to their later partitions, and translate the offsets of all groups."""
        copy = topic.name + MOVING
        replication = await self._replication(topic.name)
        kept = {"cleanup.policy": "delete", "retention.ms": str(FOREVER)}
        await self._create(copy, replication, topic_config(topic, replication) | kept)
        offsets = await self._committed(topic.name)
        unread = UnreadRecords(offsets)
        ends = await self._ends(topic.name)
        self._progress(f"Copying {topic.name} to {copy} ...")
        await self._copy(topic.name, copy, unread.take)
        if await self._ends(topic.name) != ends:
            raise StartError(f"{topic.name} was written to during the copy: stop all its writers, and repeat.")
        copied = await self._ends(copy)
        for group in offsets:
            await self._commit(group, unread.offsets(group, copied))
        await self._create(topic.name + COPIED, replication, topic_config(topic, replication))

    async def _copy_back(self, topic: Topic) -> int:
        """Create the topic again, fill it from the copy in the same order, and remove the copy.

        Partitions and offsets are those of the copy, so the offsets of groups on the copy are valid.
        """
        copy = topic.name + MOVING
        replication = await self._replication(copy)
        await self._create(topic.name, replication, topic_config(topic, replication))
        self._progress(f"Copying {copy} back to {topic.name} ...")
        await self._copy(copy, topic.name, lambda *_: None)
        ends = await self._ends(topic.name)
        if [*ends.values()] != [*(await self._ends(copy)).values()]:
            raise StartError(f"{topic.name} was written to during the move: stop all its writers, and repeat.")
        for group, offsets in (await self._committed(copy)).items():
            back = {TopicPartition(topic.name, lane.partition): offset for lane, offset in offsets.items()}
            await self._commit(group, back)
        await self._delete(copy)
        await self._delete(topic.name + COPIED)
        return sum(ends.values())

    async def _copy(
        self, source: str, target: str, note: Callable[[ConsumerRecord, TopicPartition, int], None]
    ) -> None:
        """Copy all records in the order of their partitions; `note` gets each record and its next place."""
        producer = AIOKafkaProducer(**client_options(self._bootstrap), **PRODUCER_SETTINGS)
        async with producer:
            await self._wait_for_metadata(producer, target)
            async for records in records_of(self._bootstrap, [source], say=self._progress):
                sent = [await self._send(producer, record, target) for record in records]
                for record, future in zip(records, sent, strict=True):
                    written = await future
                    note(record, TopicPartition(target, written.partition), written.offset)

    async def _wait_for_metadata(self, producer: AIOKafkaProducer, target: str) -> None:
        for _ in range(_VISIBLE_TRIES):
            if len(await producer.partitions_for(target)) == self._count:
                return
            await producer.client.force_metadata_update()
        raise StartError(f"The topic {target} is not visible to producers: repeat the command.")

    async def _send(self, producer: AIOKafkaProducer, record: ConsumerRecord, target: str) -> Any:
        if isinstance(record.value, RefusedBatch):
            raise StartError(
                f"{record.topic}:{record.partition}:{record.offset} is too large to decompress: no topic was replaced."
            )
        partition = (murmur2(record.key or b"") & 0x7FFFFFFF) % self._count
        headers = list(record.headers)
        if record.value is None and revision_named(headers) is None:
            # Readers take the log's time for it, and the copy has a later one.
            headers.append((REVISION, str(record.timestamp).encode()))
        return await producer.send(target, record.value, record.key, partition=partition, headers=headers)

    async def _create(self, name: str, replication: int, config: Mapping[str, str]) -> None:
        """Create an empty topic; one with this name is deleted first."""
        await self._delete(name)
        made = NewTopic(name, self._count, replication, topic_configs=dict(config))
        for _, code, *_ in (await self._admin.create_topics([made])).topic_errors:
            if code:
                raise StartError(f"The topic {name} cannot be created: {for_code(code).__name__}.")
        await self._wait(name, self._count)

    async def _delete(self, name: str) -> None:
        response = await self._admin.delete_topics([name])
        for _, code, *_ in response.topic_error_codes:
            if code and for_code(code) is not UnknownTopicOrPartitionError:
                raise StartError(f"The topic {name} cannot be deleted: {for_code(code).__name__}.")
        await self._wait(name, 0)

    async def _wait(self, name: str, count: int) -> None:
        for _ in range(_VISIBLE_TRIES):
            if await self._partitions(name) == count:
                return
            await asyncio.sleep(0.2)
        raise StartError(f"The topic {name} did not get {count} partitions in time: repeat the command.")

    async def _partitions(self, name: str) -> int:
        (described,) = await self._admin.describe_topics([name])
        return 0 if described["error_code"] else len(described["partitions"])

    async def _replication(self, name: str) -> int:
        (described,) = await self._admin.describe_topics([name])
        return len(described["partitions"][0]["replicas"])

    async def _groups(self) -> set[str]:
        return {name for name, *_ in await self._admin.list_consumer_groups()}

    async def _reads_ours(self, group: str) -> bool:
        compacted = {topic.name for topic in TOPICS if topic.compacted and topic.may_grow}
        return any([await self._offsets_of(group, name) for name in compacted])

    async def _committed(self, topic: str) -> dict[str, Offsets]:
        """Return the committed offsets on `topic` of every group that has some."""
        found = {group: await self._offsets_of(group, topic) for group in sorted(await self._groups())}
        return {group: offsets for group, offsets in found.items() if offsets}

    async def _offsets_of(self, group: str, topic: str) -> Offsets:
        lanes = [TopicPartition(topic, number) for number in range(await self._partitions(topic))]
        if not lanes:
            return {}
        found = await self._admin.list_consumer_group_offsets(group, partitions=lanes)
        return {lane: offset for lane, offset in found.items() if offset.offset >= 0}

    async def _ends(self, topic: str) -> dict[TopicPartition, int]:
        lanes = [TopicPartition(topic, number) for number in range(await self._partitions(topic))]
        async with AIOKafkaConsumer(**client_options(self._bootstrap), enable_auto_commit=False) as consumer:
            ends = await consumer.end_offsets(lanes)
        return {lane: ends[lane] for lane in lanes}

    async def _commit(self, group: str, offsets: Offsets) -> None:
        consumer = AIOKafkaConsumer(**client_options(self._bootstrap), group_id=group, enable_auto_commit=False)
        async with consumer:
            consumer.assign(list(offsets))
            await consumer.commit(dict(offsets))


class UnreadRecords:
    """First place in the copy of a record that a group has not read, by group and partition."""

    def __init__(self, offsets: Mapping[str, Offsets]) -> None:
        self._offsets = offsets
        self._first: defaultdict[str, dict[TopicPartition, int]] = defaultdict(dict)

    def take(self, record: ConsumerRecord, place: TopicPartition, offset: int) -> None:
        """Note a copied record with its place."""
        lane = TopicPartition(record.topic, record.partition)
        for group, offsets in self._offsets.items():
            if lane not in offsets or record.offset >= offsets[lane].offset:
                first = self._first[group]
                first[place] = min(offset, first.get(place, offset))

    def offsets(self, group: str, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the group's offsets in the copy: before the first unread record, else at the end."""
        mark = _mark(self._offsets[group].values())
        return {lane: OffsetAndMetadata(self._first[group].get(lane, end), mark) for lane, end in ends.items()}


def _mark(offsets: Iterable[OffsetAndMetadata]) -> str:
    """Return the metadata that the group's commits have in common, otherwise none."""
    marks = {one.metadata for one in offsets}
    return marks.pop() if len(marks) == 1 else ""
