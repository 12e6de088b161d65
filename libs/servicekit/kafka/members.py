"""Who is in a consumer group: a member that is none of ours swallows the records of its partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient

CLIENT_PREFIX = "agent-feedback-"
"""What the client id of each of our processes begins with."""


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
