"""Publishes the mean reward of each agent's answers in a turn on `feedback.aggregated`.

    python examples/aggregates.py --broker localhost:9092 --after 5 --quiet 60

For learners that should not learn from a single 👎. The program reads `feedback.created` and its own topic from the
beginning, and keeps the latest revision of each record in memory. The log is its only state: after a restart it
publishes only what differs from the last announcement, and an announcement that is published twice has the same
`eventId`. Run one process of it.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from typing import Literal
from uuid import UUID

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

from contracts.base import NO_VERDICTS, Event, Id, Sequence64
from contracts.feedback import FeedbackCreated
from contracts.ids import derived_id, revision_event_id
from contracts.instants import Instant
from contracts.topics import FEEDBACK_CREATED
from detector.intervals import Interval, wilson

AGGREGATED = "feedback.aggregated"
"""Topic of the aggregates, with the record key `aggregateId`."""
TurnId = tuple[str, str, str, str]
"""Ids of a turn: tenant, project, conversation and turn."""


class FeedbackAggregated(Event):
    """Event sent when the sum of the verdicts on an agent's answers in a turn changes (docs/learning.md)."""

    aggregate_id: UUID
    change: Literal["created", "updated", "cleared"]
    revision: Sequence64
    recorded_at: Instant
    conversation_id: Id
    turn_id: Id
    agent_id: Id
    count: int
    mean_reward: float | None
    interval_low: float | None
    interval_high: float | None


def mean_reward(rewards: Sequence[float]) -> tuple[float, Interval]:
    """Return the mean of one or more rewards from -1 to 1, and its 95 % confidence interval.

    The interval is conservative. It assumes the largest possible variance, which is p(1-p) for rewards scaled to 0..1
    with the mean p (Bhatia and Davis, 2000). Its width is therefore positive even if all rewards are equal.
    """
    total, count = fsum(rewards), len(rewards)
    low, high = wilson((total + count) / 2, count)
    return total / count, Interval(2 * low - 1, 2 * high - 1)


def effective(verdicts: Iterable[FeedbackCreated]) -> list[FeedbackCreated]:
    """Return the verdicts on a turn that count: the newest of each person, the newest review, and all of the machine's.

    A cleared verdict counts for nothing. Only a person's cleared judgement also replaces earlier ones.
    """

    def rank(verdict: FeedbackCreated) -> tuple[bool, int, UUID]:
        replaces = verdict.reaction is not None or (verdict.origin, verdict.feedback_type) == ("user", "explicit")
        return replaces, verdict.occurred_at, verdict.feedback_id

    newest: dict[tuple[str, str], FeedbackCreated] = {}
    for verdict in sorted(verdicts, key=rank):
        names = {"user": verdict.user_id, "reviewer": "", "machine": str(verdict.feedback_id)}
        newest[verdict.origin, names[verdict.origin]] = verdict
    return [verdict for verdict in newest.values() if verdict.reaction is not None]


class Aggregates:
    """Verdicts at their latest revision, and the last announced aggregate of each agent and turn."""

    def __init__(self) -> None:
        self._revisions: dict[UUID, tuple[int, bool]] = {}
        self._verdicts: defaultdict[TurnId, dict[UUID, FeedbackCreated]] = defaultdict(dict)
        self._turns: dict[UUID, TurnId] = {}
        self._announced: defaultdict[TurnId, dict[str, FeedbackAggregated]] = defaultdict(dict)

    def read(self, record: ConsumerRecord) -> set[TurnId]:
        """Apply a record of either topic, and return the turns whose verdicts have changed."""
        if record.topic == AGGREGATED:
            self.note(FeedbackAggregated.from_wire(record.value))
            return set()
        try:
            feedback_id = UUID((record.key or b"").decode())
            event = None if record.value is None else FeedbackCreated.from_wire(record.value)
            revision = event.revision if event else int(dict(record.headers)["revision"])
        except (ValueError, KeyError):
            return set()  # a record of another program, which is no announcement
        if event is not None and event.feedback_type in NO_VERDICTS:
            return set()  # a reply
        return self._store(feedback_id, (revision, event is None), event)

    def note(self, aggregate: FeedbackAggregated) -> None:
        turn = (aggregate.tenant, aggregate.project, aggregate.conversation_id, aggregate.turn_id)
        before = self._announced[turn].get(aggregate.agent_id)
        if before is None or before.revision < aggregate.revision:
            self._announced[turn][aggregate.agent_id] = aggregate

    def _store(self, feedback_id: UUID, rank: tuple[int, bool], event: FeedbackCreated | None) -> set[TurnId]:
        """Store a revision unless a later one is known. A tombstone sorts after an event of the same revision."""
        if rank <= self._revisions.get(feedback_id, (-1, False)):
            return set()
        self._revisions[feedback_id] = rank
        changed = set()
        if before := self._turns.pop(feedback_id, None):
            del self._verdicts[before][feedback_id]
            changed.add(before)
        if event is not None:
            turn = (event.tenant, event.project, event.conversation_id, event.turn_id)
            self._turns[feedback_id] = turn
            self._verdicts[turn][feedback_id] = event
            changed.add(turn)
        return changed

    def changed(self, turn: TurnId) -> Iterator[FeedbackAggregated]:
        """Yield the aggregates of a turn that differ from the announced ones, one for each agent."""
        verdicts, announced = self._verdicts[turn], self._announced[turn]
        rewards: dict[str, list[float]] = {agent_id: [] for agent_id in announced}
        for verdict in effective(verdicts.values()):
            rewards.setdefault(verdict.agent_id, []).append(verdict.value or 0.0)
        for agent_id, values in sorted(rewards.items()):
            mean, (low, high) = mean_reward(sorted(values)) if values else (None, (None, None))
            before = announced.get(agent_id)
            if before and (len(values), mean, low, high) == (
                *(before.count, before.mean_reward, before.interval_low, before.interval_high),
            ):
                continue
            events = [event for event in verdicts.values() if event.agent_id == agent_id]
            revision = max([before.revision + 1 if before else 0, *(event.revision for event in events)])
            aggregate_id = derived_id(*turn, agent_id)
            yield FeedbackAggregated(
                event_id=revision_event_id(aggregate_id, revision),
                occurred_at=max([before.occurred_at if before else 0, *(event.occurred_at for event in events)]),
                tenant=turn[0],
                project=turn[1],
                aggregate_id=aggregate_id,
                change="cleared" if not values else "updated" if before else "created",
                revision=revision,
                recorded_at=revision * 1_000,
                conversation_id=turn[2],
                turn_id=turn[3],
                agent_id=agent_id,
                count=len(values),
                mean_reward=mean,
                interval_low=low,
                interval_high=high,
            )


async def run(broker: str, after: int, quiet: float) -> None:
    """Announce a turn after `after` changes, or `quiet` seconds after its last change."""
    aggregates, changes, times = Aggregates(), Counter[TurnId](), dict[TurnId, float]()
    topics = (FEEDBACK_CREATED.name, AGGREGATED)
    async with (
        AIOKafkaProducer(bootstrap_servers=broker, acks="all", enable_idempotence=True) as producer,
        AIOKafkaConsumer(*topics, bootstrap_servers=broker, auto_offset_reset="earliest") as consumer,
    ):
        ends = await consumer.end_offsets(consumer.assignment())
        while True:
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                for record in batch:
                    for turn in aggregates.read(record):
                        changes[turn] += 1
                        times[turn] = time.monotonic()
            if ends := {part: end for part, end in ends.items() if await consumer.position(part) < end}:
                continue  # the announcements of an earlier run may not be read yet
            now = time.monotonic()
            for turn in [turn for turn, count in changes.items() if count >= after or now - times[turn] >= quiet]:
                for aggregate in aggregates.changed(turn):
                    value = aggregate.model_dump_json(by_alias=True).encode()
                    await producer.send_and_wait(topics[1], value, str(aggregate.aggregate_id).encode())
                    aggregates.note(aggregate)
                del changes[turn], times[turn]


def main() -> None:
    parser = argparse.ArgumentParser(description="Publish aggregated verdicts on feedback.aggregated.")
    parser.add_argument("--broker", default="localhost:9092", help="HOST:PORT of the Kafka (default: %(default)s)")
    parser.add_argument("--after", type=int, default=5, help="changes of a turn's verdicts (default: %(default)s)")
    parser.add_argument("--quiet", type=float, default=60, help="seconds without a change (default: %(default)s)")
    options = parser.parse_args()
    asyncio.run(run(options.broker, options.after, options.quiet))


if __name__ == "__main__":
    main()
