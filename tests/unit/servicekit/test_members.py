"""Detection of foreign members in a consumer group."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from servicekit.log.members import MARK, Member, Progress, foreign_members


class Admin:
    """Admin client that returns the given members, spread over two brokers' responses."""

    def __init__(self, *client_ids: str) -> None:
        self._members = [(f"{name}-1", name, "/10.0.0.7", b"", b"") for name in client_ids]

    async def describe_consumer_groups(self, groups: list[str]) -> list[Any]:
        (group,) = groups
        parts = self._members[::2], self._members[1::2]
        return [SimpleNamespace(groups=[(0, group, "Stable", "consumer", "range", part)]) for part in parts]


async def test_a_member_with_a_name_of_ours_is_ours() -> None:
    assert await foreign_members(Admin("agent-feedback-reporting", "agent-feedback-reporting"), "reporting") == []


async def test_any_other_member_is_named_with_its_address() -> None:
    found = await foreign_members(Admin("agent-feedback-feedback", "kafka-ui", "my-agent-feedback-"), "feedback")
    assert sorted(found) == [Member("kafka-ui", "/10.0.0.7"), Member("my-agent-feedback-", "/10.0.0.7")]


def test_what_others_committed_is_counted_from_our_last_position_on() -> None:
    progress, first, second = Progress(), TopicPartition("chat", 0), TopicPartition("chat", 1)
    assert not progress.look({first: (50, ""), second: (40, "")}), "nobody knows who was here before us"
    progress.committed({first: 60})
    assert not progress.look({first: (60, MARK), second: (45, MARK)}), "another process of ours"
    assert progress.look({first: (75, ""), second: (47, "theirs")}) == {"chat": 17}
    assert not progress.look({first: (75, ""), second: (47, "theirs")}), "counted once"
    assert not progress.look({first: (10, ""), second: (90, MARK)}), "set back, and ours again"
    assert progress.look({first: (12, ""), second: (90, MARK)}) == {"chat": 2}
    assert progress.taken == {"chat": 19}
