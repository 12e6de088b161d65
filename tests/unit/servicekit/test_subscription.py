"""A subscription handles a batch and commits exactly it, or reads it again; it never skips it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaConnectionError

from servicekit.errors import Unavailable
from servicekit.log.backoff import Backoff, Interrupted
from servicekit.log.delivery import Delivery
from servicekit.log.fetch import LOG_APPEND_TIME
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received
from servicekit.log.settings import SESSION_TIMEOUT_MS
from servicekit.log.subscriber import Subscription
from tests.support.hand_clock import HandClock
from tests.support.logs import NOW, RecordingLog, example
from tests.support.waits import PATIENCE_SECONDS

TOPIC = "chat.message.ingested"
FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


class Fetched(NamedTuple):
    """Record as aiokafka returns it."""

    topic: str
    partition: int
    offset: int
    value: bytes
    key: bytes | None = b"key"
    headers: Sequence[tuple[str, bytes]] = ()
    timestamp: int = NOW // 1_000
    timestamp_type: int = LOG_APPEND_TIME


def fetched(offset: int, partition: int = 0) -> Fetched:
    name = f"{partition}-{offset}"
    return Fetched(TOPIC, partition, offset, example(TOPIC, "least", messageId=name, eventId=name))


class Consumer:
    """Fake of the part of aiokafka's consumer that a subscription uses. `refusals` are raised first, one per commit."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.assigned = {FIRST, SECOND}
        self.commits: list[Mapping[TopicPartition, int]] = []
        self.sought: dict[TopicPartition, int] = {}

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.assigned)

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.commits.append(dict(offsets))

    async def committed(self, partition: TopicPartition) -> int | None:
        return None

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if partition not in self.assigned:
            raise IllegalStateError(f"{partition} is not assigned")
        self.sought[partition] = offset


class NotingHandler(Handler):
    """Handler that accepts everything and runs `meanwhile`."""

    def __init__(self, meanwhile: Callable[[], Any] = lambda: None) -> None:
        self.meanwhile = meanwhile
        self.taken: list[str] = []
        self.unsure: list[str] = []

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        result = self.meanwhile()
        if asyncio.iscoroutine(result):
            await result
        self.taken += [received.event.message_id for received in batch]
        return [Outcome.STORED] * len(batch)

    async def commit_lost(self, batch: Sequence[Received[Any]]) -> None:
        self.unsure += [received.event.message_id for received in batch]


class NoWait(Backoff):
    """Does not wait, and records the durations."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def wait_seconds(self, seconds: float) -> None:
        self.waits.append(seconds)
        if self.give_up.is_set():
            raise Interrupted


class Given(Subscription):
    """Subscription on a given consumer."""

    def __init__(self, consumer: Consumer, handler: NotingHandler, *observers: Callable[[Any], None]) -> None:
        self.clock = HandClock()
        self.waiting = NoWait()
        self.accepted: list[Mapping[TopicPartition, int]] = []
        delivery = Delivery(
            "chat_bridge", handler, RecordingLog(), clock=self.clock, observers=observers, backoff=self.waiting
        )
        super().__init__(delivery, self.clock, lambda _group, offsets: self.accepted.append(dict(offsets)))
        self._given = consumer

    @property
    def consumer(self) -> Any:
        return self._given

    async def take(self, *records: Fetched) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._on_batch(list(records))


async def assigned(consumer: Consumer, handler: NotingHandler, *observers: Callable[[Any], None]) -> Given:
    subscription = Given(consumer, handler, *observers)
    await subscription.on_partitions_assigned([FIRST, SECOND])
    return subscription


async def test_a_batch_is_taken_in_and_then_exactly_it_is_committed() -> None:
    consumer, handler = Consumer(), NotingHandler()
    subscription = await assigned(consumer, handler)
    await subscription.take(fetched(7), fetched(8), fetched(3, 1))
    assert handler.taken == ["0-7", "0-8", "1-3"]
    assert consumer.commits == subscription.accepted == [{FIRST: 9, SECOND: 4}]
    assert (consumer.sought, handler.unsure) == ({}, [])


async def test_an_unexpected_failure_has_the_batch_read_again_from_its_first_record() -> None:
    failures = [ValueError("an observer of ours is broken")]

    def observer(_: Any) -> None:
        if failures:
            raise failures.pop()

    consumer, handler = Consumer(), NotingHandler()
    subscription = await assigned(consumer, handler, observer)
    batch = (fetched(7), fetched(8), fetched(3, 1))
    await subscription.take(*batch)
    assert consumer.commits == [], "what was not taken in must not be committed"
    assert consumer.sought == {FIRST: 7, SECOND: 3}
    assert subscription.waiting.waits == [1]
    await subscription.take(*batch)
    assert consumer.commits == [{FIRST: 9, SECOND: 4}]


async def test_an_interrupted_batch_is_read_again() -> None:
    def down() -> None:
        raise Unavailable("the database")

    consumer = Consumer()
    subscription = await assigned(consumer, NotingHandler(down))
    subscription.delivery.backoff.give_up.set()
    await subscription.take(fetched(7), fetched(8))
    assert (consumer.commits, consumer.sought) == ([], {FIRST: 7})


async def test_a_partition_that_is_gone_does_not_keep_the_others_from_being_read_again() -> None:
    consumer = Consumer()

    def fail(_: Any) -> None:
        consumer.assigned.discard(FIRST)
        raise ValueError

    subscription = await assigned(consumer, NotingHandler(), fail)
    await subscription.take(fetched(7), fetched(3, 1))
    assert consumer.sought == {SECOND: 3}


async def test_a_batch_of_an_earlier_assignment_is_neither_committed_nor_read_again() -> None:
    consumer = Consumer()
    handler = NotingHandler(lambda: subscription.on_partitions_assigned([FIRST]))
    subscription = await assigned(consumer, handler)
    await subscription.take(fetched(7))
    assert (consumer.commits, consumer.sought) == ([], {})
    assert handler.unsure == ["0-7"], "somebody else may have worked on it"


async def test_a_batch_that_failed_after_a_rebalance_is_not_read_again() -> None:
    """The present owner of the partition has begun at the committed offset, and so have we if we own it."""
    consumer = Consumer()
    handler = NotingHandler(lambda: subscription.on_partitions_assigned([FIRST]))

    def fail(_: Any) -> None:
        raise ValueError

    subscription = await assigned(consumer, handler, fail)
    await subscription.take(fetched(7))
    assert (consumer.commits, consumer.sought) == ([], {})


async def test_a_refused_commit_counts_as_lost() -> None:
    for refusal in (CommitFailedError(), IllegalStateError("not assigned")):
        consumer, handler = Consumer(refusal), NotingHandler()
        subscription = await assigned(consumer, handler)
        await subscription.take(fetched(7))
        assert handler.unsure == ["0-7"]
        assert subscription.accepted == []


@pytest.mark.parametrize(("seconds", "lost"), [(SESSION_TIMEOUT_MS / 1_000, False), (10.5, True)])
async def test_a_commit_later_than_the_session_timeout_counts_as_lost(seconds: float, lost: bool) -> None:
    """The log may accept it although the group has reassigned the partitions in between."""
    consumer = Consumer()
    handler = NotingHandler(lambda: subscription.clock.forward(seconds))
    subscription = await assigned(consumer, handler)
    await subscription.take(fetched(7))
    assert consumer.commits == [{FIRST: 8}]
    assert handler.unsure == (["0-7"] if lost else [])


async def test_a_commit_waits_for_a_broker_that_does_not_answer() -> None:
    consumer, handler = Consumer(KafkaConnectionError(), KafkaConnectionError()), NotingHandler()
    subscription = await assigned(consumer, handler)
    await subscription.take(fetched(7))
    assert consumer.commits == [{FIRST: 8}]
    assert (len(subscription.waiting.waits), handler.unsure) == (2, [])


async def test_records_of_partitions_that_are_somebody_elses_are_left_to_them() -> None:
    consumer, handler = Consumer(), NotingHandler()
    consumer.assigned = {FIRST}
    subscription = await assigned(consumer, handler)
    await subscription.take(fetched(3, 1), fetched(7))
    assert (handler.taken, consumer.commits) == (["0-7"], [{FIRST: 8}])


async def test_a_batch_that_waited_through_a_rebalance_is_dropped() -> None:
    """It is read again from the committed offset; handling it now could move the offset back."""
    consumer, handler = Consumer(), NotingHandler()
    subscription = await assigned(consumer, handler)
    await subscription._busy.acquire()
    waiting = asyncio.create_task(subscription.take(fetched(7)))
    await asyncio.sleep(0)
    await subscription.on_partitions_assigned([FIRST])
    subscription._busy.release()
    await waiting
    assert (handler.taken, consumer.commits) == ([], [])


async def test_a_stopped_subscription_takes_no_further_batch() -> None:
    consumer, handler = Consumer(), NotingHandler()
    subscription = await assigned(consumer, handler)
    await subscription.stop()
    await subscription.take(fetched(7))
    assert (handler.taken, consumer.commits) == ([], [])


async def test_a_rebalance_waits_for_the_batch_at_work_and_its_commit() -> None:
    going_on, held = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        going_on.set()
        await held.wait()

    consumer = Consumer()
    subscription = await assigned(consumer, NotingHandler(work))
    batch = asyncio.create_task(subscription.take(fetched(7)))
    await going_on.wait()
    revoked = asyncio.create_task(subscription.on_partitions_revoked([FIRST, SECOND]))
    await asyncio.sleep(0)
    assert not revoked.done()
    assert subscription.not_ready()
    held.set()
    await asyncio.gather(batch, revoked)
    assert consumer.commits == [{FIRST: 8}]


async def test_it_is_ready_for_a_minute_after_its_last_batch() -> None:
    subscription = await assigned(Consumer(), NotingHandler())
    await subscription.take(fetched(7))
    subscription.clock.forward(59.5)
    assert subscription.not_ready() is None
    subscription.clock.forward(0.5)
    assert subscription.not_ready() == "it has not looked into the log for a minute"


async def test_it_is_not_ready_once_batches_have_failed_for_half_a_minute() -> None:
    broken = True

    def observer(_: Any) -> None:
        if broken:
            raise ValueError

    subscription = await assigned(Consumer(), NotingHandler(), observer)
    await subscription.take(fetched(7))
    subscription.clock.forward(29)
    await subscription.take(fetched(7))
    assert subscription.not_ready() is None
    subscription.clock.forward(1)
    await subscription.take(fetched(7))
    assert subscription.not_ready() == "its batches keep failing (ValueError): the log line batch_failed says where"
    broken = False
    await subscription.take(fetched(7))
    assert subscription.not_ready() is None
