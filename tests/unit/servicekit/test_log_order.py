"""Partitions of related topics are read by the log's time, and no record waits for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from servicekit.log.log_order import (
    HOLD_SECONDS,
    STALE_MS,
    BatchEnd,
    HoldDeadlines,
    MergeStep,
    PartitionHead,
    next_step,
)

times = st.lists(st.integers(0, 1_000), max_size=20).map(sorted)


def lane(
    rank: int, head: int | None, *, unread: bool = False, known_at: int = 5_000, position: int = 0
) -> PartitionHead:
    return PartitionHead(rank, head, 5_000, unread, known_at, position)


@dataclass
class Reader:
    """Reads lanes of times as a consumer does, step by step."""

    left: list[list[int]]
    read: list[tuple[int, int]] = field(default_factory=list)

    def read_all(self) -> None:
        while step := next_step([lane(rank, some[0] if some else None) for rank, some in enumerate(self.left)]):
            some = self.left[step.number]
            assert some[0] <= step.until, "each step makes progress"
            while some and some[0] <= step.until:
                self.read.append((some.pop(0), step.number))


@given(lanes=st.lists(times, min_size=1, max_size=3))
def test_records_are_read_by_time_and_lower_ranks_first(lanes: list[list[int]]) -> None:
    reader = Reader([list(some) for some in lanes])
    reader.read_all()
    assert reader.read == sorted((time, rank) for rank, some in enumerate(lanes) for time in some)


def batches(times: Sequence[int], limit: int, spare: int) -> list[list[int]]:
    """Cut the records of one lane into batches."""
    found: list[list[int]] = []
    while times:
        end, batch = BatchEnd(limit, spare), list[int]()
        while times and (room := end.room(MergeStep(0, times[0], 0))):
            taken, times = times[:room], times[room:]
            batch += taken
            end.took(len(taken), taken[-1])
        found.append(batch)
    return found


def test_a_batch_ends_between_two_moments() -> None:
    moments = [moment * 100 + record for moment in range(20) for record in range(7)]
    cut = batches(moments, 100, 10)
    assert [batch[-1] % 100 for batch in cut] == [6] * len(cut)
    assert max(map(len, cut)) <= 100


@given(times=st.lists(st.integers(0, 500), max_size=300).map(sorted), limit=st.integers(1, 50))
def test_a_batch_keeps_its_limit_without_gaps(times: list[int], limit: int) -> None:
    cut = batches(times, limit, limit // 10)
    assert [time for batch in cut for time in batch] == times
    assert all(limit - limit // 10 <= len(batch) <= limit for batch in cut[:-1])


def missing(holds: HoldDeadlines, now: float, message: PartitionHead, first: PartitionHead) -> float | None:
    return holds.missing({"messages": message, "replies": first}, first, now)


def test_a_record_waits_for_unread_records_of_a_related_topic_for_a_bounded_time() -> None:
    holds, unread, reply = HoldDeadlines(), lane(0, None, unread=True), lane(1, 10)
    assert missing(holds, 100.0, unread, reply) == HOLD_SECONDS
    assert missing(holds, 101.0, unread, reply) == HOLD_SECONDS - 1
    assert missing(holds, 100.0 + HOLD_SECONDS, unread, reply) is None
    assert missing(holds, 999.0, unread, reply) is None, "waits once for one position"
    moved = lane(0, None, unread=True, position=1)
    assert missing(holds, 999.0, moved, reply) == HOLD_SECONDS


def test_a_record_does_not_wait_for_a_partition_that_is_read_to_its_end() -> None:
    assert missing(HoldDeadlines(), 100.0, lane(0, None), lane(1, 10)) is None


def test_a_reply_waits_for_messages_of_an_outdated_fetch_and_a_message_for_no_reply() -> None:
    old = 5_000 - STALE_MS - 1
    assert missing(HoldDeadlines(), 100.0, lane(0, None, known_at=old), lane(1, 10)) == HOLD_SECONDS
    assert missing(HoldDeadlines(), 100.0, lane(0, None, known_at=old + 1), lane(1, 10)) is None
    message = lane(0, 10)
    assert HoldDeadlines().missing({"messages": message, "replies": lane(1, None, known_at=0)}, message, 100.0) is None


def test_a_partition_read_to_its_end_meanwhile_is_waited_for_again() -> None:
    holds, unread, reply = HoldDeadlines(), lane(0, None, unread=True), lane(1, 10)
    missing(holds, 100.0, unread, reply)
    missing(holds, 101.0, lane(0, None), reply)
    assert missing(holds, 900.0, unread, reply) == HOLD_SECONDS


def test_a_record_does_not_wait_for_records_that_cannot_be_earlier() -> None:
    unread = lane(0, None, unread=True)._replace(read_to=10)
    assert missing(HoldDeadlines(), 100.0, unread, lane(1, 10)) is None
    assert missing(HoldDeadlines(), 100.0, unread, lane(1, 11)) == HOLD_SECONDS
