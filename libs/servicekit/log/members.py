"""Members of a consumer group. A foreign member takes the records of its partitions away from ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

CLIENT_PREFIX = "agent-feedback-"
"""What the client id of each of our processes begins with."""

MARK = "agent-feedback"
"""What our commits carry along: a position of a group without it was committed by somebody else."""


class Progress:
    """Progress of a group made by foreign consumers, including those that use our name or have left."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        """Records by topic that were passed by somebody else, at most."""
        self._ours: dict[TopicPartition, int] = {}

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Note what we have committed ourselves."""
        self._ours.update(offsets)

    def look(self, positions: Mapping[TopicPartition, tuple[int, str]]) -> Counter[str]:
        """Return what was passed by somebody else since we last knew, by topic. Positions come with their marks.

        Of a partition that never bore our mark nothing is known. One that was set back is read again, and no loss.
        """
        taken: Counter[str] = Counter()
        for partition, (at, mark) in positions.items():
            ours = self._ours.get(partition)
            if mark != MARK and ours is not None and at > ours:
                taken[partition.topic] += at - ours
            if mark == MARK or ours is not None:
                self._ours[partition] = at
        self.taken += taken
        return taken


class Member(NamedTuple):
    """A member of a consumer group, by the names it gave itself and the address the broker saw."""

    client_id: str
    host: str


async def foreign_members(admin: AIOKafkaAdminClient, group: str) -> list[Member]:
    """The members of `group` that are no process of ours. Raises KafkaError where the log does not say."""
    return [
        member for member in members_in(await admin.describe_consumer_groups([group])) if not _is_ours(member.client_id)
    ]


def members_in(responses: Sequence[object]) -> list[Member]:
    """The members that the brokers' answers name."""
    return [
        Member(client_id, host)
        for response in responses
        for (_error, _group, _state, _kind, _protocol, members, *_) in getattr(response, "groups", ())
        for (_id, client_id, host, *_) in members
    ]


def _is_ours(client_id: str) -> bool:
    return client_id.startswith(CLIENT_PREFIX)
