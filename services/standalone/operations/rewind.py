"""Reset of consumer groups to an earlier time, so that restored databases consume the log again from there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import get_args

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from contracts.topics import Consumer, consumed_by
from servicekit.errors import StartError
from servicekit.log.cluster import Bootstrap, client_options
from standalone.operations.log_access import admin_of

GROUPS: Sequence[Consumer] = get_args(Consumer)


async def rewind(bootstrap: Bootstrap, groups: Collection[Consumer], since: int | None) -> dict[str, int]:
    """Reset consumer groups to the first record at or after a time. A group is never moved forward.

    Args:
        since: Log time in microseconds, or None for the beginning.

    Returns:
        The number of records that each group will read again.

    Raises:
        StartError: A group has members, whose next commit would undo the reset. No group is reset.
    """
    admin = await admin_of(bootstrap)
    try:
        for group in groups:
            if members := await _members(admin, group):
                raise StartError(
                    f"The group {group} has {members} members: stop its processes first, and wait ten seconds for "
                    "those that were killed."
                )
        return {group: await _rewind(bootstrap, group, await _lanes(admin, group), since) for group in groups}
    finally:
        await admin.close()


async def _members(admin: AIOKafkaAdminClient, group: Consumer) -> int:
    responses = await admin.describe_consumer_groups([group])
    return sum(len(members) for response in responses for (_, _, _, _, _, members, *_) in response.groups)


async def _rewind(bootstrap: Bootstrap, group: Consumer, lanes: Sequence[TopicPartition], since: int | None) -> int:
    consumer = AIOKafkaConsumer(**client_options(bootstrap), group_id=group, enable_auto_commit=False)
    async with consumer:
        consumer.assign(lanes)
        committed = {lane: await consumer.committed(lane) for lane in lanes}
        starts = await _starts(consumer, lanes, since)
        earlier_offsets = earlier(committed, starts)
        if earlier_offsets:
            await consumer.commit(earlier_offsets)
        return sum((committed[lane] or 0) - offset for lane, offset in earlier_offsets.items())


async def _starts(
    consumer: AIOKafkaConsumer, lanes: Sequence[TopicPartition], since: int | None
) -> Mapping[TopicPartition, int]:
    """Return the offset of the first record at or after `since` for each partition that has one.

    `since` is in microseconds; None means the beginning.
    """
    if since is None:
        starts: dict[TopicPartition, int] = await consumer.beginning_offsets(lanes)
        return starts
    starts_at = await consumer.offsets_for_times(dict.fromkeys(lanes, since // 1_000))
    return {lane: first.offset for lane, first in starts_at.items() if first is not None}


def earlier(
    committed: Mapping[TopicPartition, int | None], starts: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return the offsets in `starts` that are below the committed offset of their partition.

    Partitions without a committed offset are omitted, because the group starts there at 0 anyway.
    """
    return {
        lane: start for lane, start in starts.items() if (offset := committed.get(lane)) is not None and start < offset
    }


async def _lanes(admin: AIOKafkaAdminClient, group: Consumer) -> list[TopicPartition]:
    """Return the existing partitions of the topics that `group` consumes."""
    return [
        TopicPartition(described["topic"], partition["partition"])
        for described in await admin.describe_topics([topic.name for topic in consumed_by(group)])
        if described["error_code"] == 0
        for partition in described["partitions"]
    ]
