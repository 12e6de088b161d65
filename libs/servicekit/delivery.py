"""Batch delivery: read, handle, set aside, commit. Every promise about records rests on this file.

The order is fixed: a batch's effects are written and acknowledged before its offsets are committed, so a crash
anywhere means that the batch comes again, and handlers give the same effect however often it comes.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from contracts.base import Envelope
from contracts.topics import Consumer, Topic, consumed_by
from servicekit import metrics
from servicekit.breaker import Breaker
from servicekit.clock import Clock
from servicekit.deadletter import dead_letter
from servicekit.failures import is_outage, is_transient, permanent_reason
from servicekit.logging import frames, logger
from servicekit.outcome import DeadLettered, Ignored, Outcome, kind_of, reason_of
from servicekit.producer import Producer
from servicekit.records import RawRecord, Received, Refused, Tombstone, buried, cause_of, read

BISECT_AFTER = 5
"""Failures of a batch, while the probe succeeds, after which it is taken apart like a bug."""
LONGEST_WAIT = 30.0
"""Seconds between two tries of a batch."""

TOMBSTONE = Ignored("tombstone")
"""For a handler that holds nothing that could be forgotten."""

log = logger("delivery")


class Observation(NamedTuple):
    """What became of one record. `cause`: the coordinates of the chat record it comes from, its own where it is one."""

    group: Consumer
    topic: str
    cause: str
    outcome: Outcome


Observer = Callable[[Observation], None]


def observe(observers: Sequence[Observer], observation: Observation) -> None:
    """Count an outcome and tell every observer."""
    outcome = observation.outcome
    metrics.RECORDS.labels(observation.group, observation.topic, kind_of(outcome), reason_of(outcome)).inc()
    for observer in observers:
        observer(observation)


def observe_all(observers: Sequence[Observer], observations: Sequence[Observation]) -> None:
    """`observe` for a batch: each kind of outcome is counted at one stroke."""
    counts = Counter((one.group, one.topic, kind_of(one.outcome), reason_of(one.outcome)) for one in observations)
    for labels, count in counts.items():
        metrics.RECORDS.labels(*labels).inc(count)
    for observer in observers:
        for one in observations:
            observer(one)


class Handler(Protocol):
    """One group's work. One that also takes `Tombstone`s says so by an attribute `takes_tombstones = True`."""

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        """Take the whole batch in, and say of each record what became of it, in the same order.

        Must be idempotent: the same records may come again, whole or in parts, after any failure.
        """
        ...

    async def uncertain(self, batch: Sequence[Received[Any]]) -> None:
        """The batch's commit was refused or came late: another consumer may have worked on the same records."""
        ...

    async def probe(self) -> None:
        """Raise if the handler's database does not answer."""
        ...


class Interrupted(Exception):
    """The partitions were taken away, or the service stops: the batch will come again."""


@dataclass
class Patience:
    """Waiting between tries, ended at once when the partitions are taken away or the service stops."""

    give_up: asyncio.Event = field(default_factory=asyncio.Event)
    pick: Callable[[float, float], float] = random.uniform

    async def wait(self, attempt: int) -> None:
        """Wait about 0.2 s doubled with each attempt (1 is the first), at most 30 s. Raises Interrupted."""
        await self.wait_seconds(min(LONGEST_WAIT, 0.2 * 2 ** min(attempt - 1, 10)) * self.pick(0.5, 1.0))

    async def wait_seconds(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.give_up.wait(), seconds)
        except TimeoutError:
            return
        raise Interrupted


class Delivery:
    """One consumer group's work on batches of raw records."""

    def __init__(
        self,
        group: Consumer,
        handler: Handler,
        producer: Producer,
        *,
        clock: Clock,
        judge_at: int | None = None,
        observers: Sequence[Observer] = (),
        patience: Patience | None = None,
    ) -> None:
        self.group = group
        self.topics: tuple[Topic, ...] = consumed_by(group)
        self._models: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in self.topics}
        self._keeps = {topic.name for topic in self.topics if topic.consumers[0] == group}
        self._handler = handler
        self._taken = (Received, Tombstone) if getattr(handler, "takes_tombstones", False) else (Received,)
        self._producer = producer
        self._clock = clock
        self._judge_at = judge_at
        self._observers = tuple(observers)
        self.patience = patience or Patience()
        self.mending = Patience(pick=self.patience.pick)
        """Ended by a stop alone: what a lost commit left behind is mended even after the partitions are gone."""
        self.breaker = Breaker()

    async def deliver(self, records: Sequence[RawRecord], commit: Callable[[], Awaitable[bool]]) -> None:
        """Take in `records`, then `commit`, which says whether the log accepted it as still ours.

        Raises Interrupted where the records must come again.
        """
        started = self._clock.monotonic()
        if self.breaker.open:
            await self.patience.wait_seconds(self.breaker.pause_seconds)
        read_ones = [buried(raw) or read(raw, self._models, self._judge_at) for raw in records]
        good: list[Any] = [one for one in read_ones if isinstance(one, self._taken)]
        handled = iter(await self._persist(good) if good else ())
        outcomes = [next(handled) if isinstance(one, self._taken) else self._refusal(one) for one in read_ones]
        await self._set_aside(
            [
                Refused(raw, outcome.reason, one.detail if isinstance(one, Refused) else "")
                for raw, one, outcome in zip(records, read_ones, outcomes, strict=True)
                if isinstance(outcome, DeadLettered)
            ]
        )
        observe_all(
            self._observers,
            [
                Observation(self.group, raw.coordinates.topic, cause_of(raw), outcome)
                for raw, outcome in zip(records, outcomes, strict=True)
            ],
        )
        if not await commit():
            metrics.LOST_COMMITS.labels(self.group).inc()
            log.warning("commit_lost", group=self.group, records=len(records))
            await self._uncertain(good)
        metrics.BATCH_SECONDS.labels(self.group).observe(self._clock.monotonic() - started)
        metrics.BREAKER.labels(self.group).set(self.breaker.open)

    def _refusal(self, refused: Received[Any] | Tombstone | Refused) -> Outcome:
        if not isinstance(refused, Refused):
            return TOMBSTONE
        kept = refused.raw.coordinates.topic in self._keeps
        return DeadLettered(refused.reason) if kept else Ignored("set_aside_elsewhere")

    async def _persist(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        """Handle the batch however long the outage; take it apart where it is the batch itself that fails."""
        attempt = blamed = 0
        while True:
            try:
                outcomes = await self._handler.handle(batch)
                self.breaker.record(0, len(batch))
                return outcomes
            except Exception as error:
                attempt += 1
                if not is_transient(error):
                    return await self._take_apart(batch, error)
                metrics.RETRIES.labels(self.group).inc()
                log.warning("batch_waits", group=self.group, attempt=attempt, error=type(error).__name__)
                blamed = blamed + 1 if await self._batch_is_to_blame(error) else 0
                if blamed >= BISECT_AFTER:
                    return await self._take_apart(batch, error)
            await self.patience.wait(attempt)

    async def _batch_is_to_blame(self, error: Exception) -> bool:
        """Whether a transient failure comes from the batch itself: it is no outage, and the database answers."""
        if is_outage(error):
            return False
        try:
            await self._handler.probe()
        except Exception as error:
            if not is_transient(error):
                raise
            return False
        return True

    async def _take_apart(self, batch: Sequence[Received[Any]], error: Exception) -> Sequence[Outcome]:
        if len(batch) > 1:
            middle = len(batch) // 2
            first = await self._persist_part(batch[:middle])
            return [*first, *await self._persist_part(batch[middle:])]
        reason = permanent_reason(error)
        if reason is None:
            reason = "bug"
            metrics.BUGS.labels(self.group).inc()
            at = str(batch[0].raw.coordinates)
            log.error("bug", group=self.group, at=at, error=type(error).__name__, where=frames(error))
        self.breaker.record(int(reason == "bug"), 1)
        return [DeadLettered(reason)]

    async def _persist_part(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        """A part is taken apart at its first failure; a single record gets as many tries as a whole batch."""
        if len(batch) == 1:
            return await self._persist(batch)
        try:
            outcomes = await self._handler.handle(batch)
        except Exception as error:
            if is_transient(error) and not await self._batch_is_to_blame(error):
                return await self._persist(batch)
            return await self._take_apart(batch, error)
        self.breaker.record(0, len(batch))
        return outcomes

    async def _set_aside(self, refused: Sequence[Refused]) -> None:
        if not refused:
            return
        letters = [
            dead_letter(one.raw, service=self.group, reason=one.reason, error_class="permanent", detail=one.detail)
            for one in refused
        ]
        await self._until_up(lambda: self._producer.send(letters), self.patience)
        for one in refused:
            metrics.DEAD_LETTERS.labels(self.group, one.raw.coordinates.topic, one.reason).inc()

    async def _uncertain(self, batch: Sequence[Received[Any]]) -> None:
        await self._until_up(lambda: self._handler.uncertain(batch), self.mending)

    async def _until_up(self, work: Callable[[], Awaitable[object]], patience: Patience) -> None:
        attempt = 0
        while True:
            try:
                await work()
                return
            except Exception as error:
                if not is_transient(error):
                    raise
                attempt += 1
            await patience.wait(attempt)
