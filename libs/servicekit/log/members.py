"""Detection of foreign members in our consumer groups, which take records away from our own members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

CLIENT_PREFIX = "agent-feedback-"
"""Prefix of the client ids of all our processes."""

MARK = "agent-feedback"
"""Metadata of our commits. A committed offset without it was set by a foreign consumer."""


class Progress:
    """Detector of offsets that foreign consumers have committed in one of our groups.

    It works even if a foreign consumer uses our client id or has already left the group.
    """

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        """Maximum number of records, by topic, that foreign consumers may have consumed."""
        self._ours: dict[TopicPartition, int] = {}

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Record offsets that our own consumers committed."""
        self._ours.update(offsets)

    def look(self, positions: Mapping[TopicPartition, tuple[int, str]]) -> Counter[str]:
        """Return the number of records by topic that foreign consumers have committed since our last commit.

        Only partitions on which we have committed before are counted. Offsets that were reset to earlier ones are not
        counted, because their records are read again.

        Args:
            positions: The group's committed offsets with their metadata.
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
    """Member of a consumer group: the client id that it has chosen, and its host according to the broker."""

    client_id: str
    host: str


async def foreign_members(admin: AIOKafkaAdminClient, group: str) -> list[Member]:
    """Return the members of `group` that are not processes of this platform.

    Raises KafkaError if the log does not respond.
    """
    return [
        member for member in members_in(await admin.describe_consumer_groups([group])) if not _is_ours(member.client_id)
    ]


def members_in(responses: Sequence[object]) -> list[Member]:
    """Return the group members listed in the brokers' responses."""
    return [
        Member(client_id, host)
        for response in responses
        for (_error, _group, _state, _kind, _protocol, members, *_) in getattr(response, "groups", ())
        for (_id, client_id, host, *_) in members
    ]


def _is_ours(client_id: str) -> bool:
    return client_id.startswith(CLIENT_PREFIX)
