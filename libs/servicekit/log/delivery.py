"""Batch delivery: parse records, handle them, write dead letters, and commit.

All delivery guarantees are implemented here. The effects of a batch are written and acknowledged before its offsets are
committed, so after a crash the batch is delivered again. Handlers must therefore be idempotent.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from contracts.base import Envelope
from contracts.feedback import FeedbackErased
from contracts.topics import Consumer, Topic, consumed_by
from servicekit import metrics
from servicekit.clock import Clock
from servicekit.error_kinds import in_words, is_outage, is_transient, permanent_reason, signature_of
from servicekit.log.bug_rate_breaker import PROBE_SECONDS, Bug, BugRateBreaker, Conversation
from servicekit.log.dead_letters import NoteDeadLetters, dead_letter, ignore_dead_letters, joined_records
from servicekit.log.handler import Handler
from servicekit.log.messages import Producer
from servicekit.log.observing import observe_all
from servicekit.log.outcome import TOMBSTONE, Observer, Outcome
from servicekit.log.records import RawRecord, Received, Unreadable, is_tombstone, read, read_tombstone
from servicekit.log.redacting import redacted_records
from servicekit.log.stall import Stall
from servicekit.log.tracing import BatchTrace, Tracing
from servicekit.logging import frames, logger
from servicekit.redaction.redactor import Redactor
from servicekit.stages import StageTimes, current_times, stage

BISECT_AFTER = 5
"""Number of transient failures while the probe succeeds, after which a batch is bisected as for a bug."""
BLAME_AFTER = 9
"""Number of transient failures while the probe succeeds, after which a single record is treated as a bug.

The attempts take 25 to 51 s. The number is large because of connections that lose only some responses: until the
network is repaired, a batch may fail although every probe succeeds.
"""
LETTERS_BYTES = 4 * 1024 * 1024
"""Maximum total size of the values in one write of dead letters, in bytes; a larger value is written alone."""
WITNESSES = 20
"""Maximum number of records of other conversations that are tried before a group stops because a topic keeps
failing."""
LONGEST_WAIT = 30.0
"""Maximum delay between two attempts of a batch, in seconds."""

log = logger("delivery")


class Interrupted(Exception):
    """Raised when the partitions are revoked or the service stops. The batch will be delivered again."""


@dataclass
class Backoff:
    """Growing delays between attempts.

    Setting `give_up` interrupts a delay, for example because the partitions are revoked or the service stops.
    """

    give_up: asyncio.Event = field(default_factory=asyncio.Event)
    pick: Callable[[float, float], float] = random.uniform

    async def wait(self, attempt: int) -> None:
        """Wait before the next attempt.

        The delay is random. Its maximum is 0.2 s after the first attempt and doubles with each further attempt, up to
        30 s.

        Args:
            attempt: The number of attempts so far.

        Raises:
            Interrupted: If the wait is interrupted.
        """
        await self.wait_seconds(min(LONGEST_WAIT, 0.2 * 2 ** min(attempt - 1, 10)) * self.pick(0.5, 1.0))

    async def wait_seconds(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.give_up.wait(), seconds)
        except TimeoutError:
            return
        raise Interrupted


Commit = Callable[[Sequence[RawRecord]], Awaitable[bool]]
"""Function that commits the offsets of records. It returns True if the log accepted the commit and no other consumer
can have processed the records."""


async def _no_outage() -> None:
    """Default probe for handlers without dependencies: always succeeds."""


class Delivery:
    """Delivery of a consumer group's batches to its handler.

    Args:
        letters: The producer for dead letters.
        probe: A function that raises an error if one of the handler's dependencies is down.
        redactor: The redactor that masks the parts of people's texts that must not be stored.
    """

    def __init__(
        self,
        group: Consumer,
        handler: Handler,
        letters: Producer,
        *,
        clock: Clock,
        judge_at: int | None = None,
        observers: Sequence[Observer] = (),
        backoff: Backoff | None = None,
        probe: Callable[[], Awaitable[None]] = _no_outage,
        note_dead_letters: NoteDeadLetters = ignore_dead_letters,
        redactor: Redactor | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self.group = group
        self.topics: tuple[Topic, ...] = consumed_by(group)
        self._models: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in self.topics}
        self._keeps = {topic.name for topic in self.topics if topic.consumers[0] == group}
        self._handler = handler
        self._probe = probe
        self._note_dead_letters = note_dead_letters
        self._redactor = redactor
        self._tracing = tracing
        self._letters = letters
        self._clock = clock
        self._judge_at = judge_at
        self._observers = tuple(observers)
        self.backoff = backoff or Backoff()
        self.repair_backoff = Backoff(pick=self.backoff.pick)
        """Backoff of repairs; only a stop ends it, since a repair continues after the partitions are revoked."""
        self.breaker = BugRateBreaker(clock)
        self.stall = Stall(clock)
        self._at_work: Sequence[Any] = ()
        self.began = clock.monotonic()
        """Start of the current batch, in seconds of the monotonic clock."""

    async def deliver(self, records: Sequence[RawRecord], commit: Commit) -> None:
        """Process and commit `records`, in smaller batches while the circuit breaker is open.

        Raises Interrupted if the records that are not committed yet must be delivered again.
        """
        rest = records
        try:
            while rest:
                if self.breaker.resting:
                    self.stall.mark_idle()
                    await self.backoff.wait_seconds(PROBE_SECONDS)
                    self.breaker.rested()
                allowed = self.breaker.allowed(len(rest))
                taken = await self._deliver(rest if allowed == len(rest) else rest[:allowed], commit)
                rest = rest[taken:]
        finally:
            self.stall.mark_idle()

    async def _deliver(self, records: Sequence[RawRecord], commit: Commit) -> int:
        """Process and commit `records`, and return the number of committed records.

        Processing stops early if the circuit breaker opens.
        """
        self.began = self._clock.monotonic()
        times = StageTimes()
        token = current_times.set(times)
        trace = self._tracing.begin(self.group, records) if self._tracing is not None else None
        try:
            outcomes = await self._deliver_timed(records, commit, trace)
        except BaseException as error:
            if trace is not None:
                trace.failed(type(error).__name__, times)
            raise
        finally:
            current_times.reset(token)
        if trace is not None:
            trace.ended(outcomes, times)
        self._measure(records[: len(outcomes)], times, trace)
        return len(outcomes)

    def _measure(self, records: Sequence[RawRecord], times: StageTimes, trace: BatchTrace | None) -> None:
        """Update the metrics for a committed batch."""
        metrics.BATCH_SECONDS.labels(self.group).observe(self._clock.monotonic() - self.began)
        metrics.BATCH_RECORDS.labels(self.group).observe(len(records))
        metrics.BREAKER.labels(self.group).set(self.breaker.open)
        for name, span in times.spans.items():
            metrics.STAGE_SECONDS.labels(self.group, name).observe(span.seconds)
        now = self._clock.now()
        traced = () if trace is None else trace.traces(len(records))
        exemplars = {records[at].log_time: {"trace_id": trace_id} for at, trace_id in traced}
        seconds = metrics.EVENT_SECONDS.labels(self.group)
        for raw in records:
            seconds.observe(max(0, now - raw.log_time) / 1_000_000, exemplars.get(raw.log_time))

    async def _deliver_timed(
        self, records: Sequence[RawRecord], commit: Commit, trace: BatchTrace | None
    ) -> Sequence[Outcome]:
        """Process and commit `records`, and return the outcomes of the committed records."""
        self.stall.mark_progress()
        with stage("read"):
            records = redacted_records(records, self._redactor, self._keeps)
            # Dead letters and commits use the records as they are in the log. Handlers get our spans' trace contexts.
            seen = records if trace is None else trace.carried_on(records)
            read_ones = self._read(seen)
        good = [one for one in read_ones if isinstance(one, Received)]
        self._count_dropped(good)
        self._at_work = good
        handled = await self._persist(good) if good else ()
        outcomes = self._outcomes(read_ones, handled)
        if len(outcomes) < len(records):
            records = records[: len(outcomes)]
        await self._set_aside(
            [
                Unreadable(raw, outcome.reason, one.detail if isinstance(one, Unreadable) else "")
                for raw, one, outcome in zip(records, read_ones, outcomes, strict=False)
                if outcome.kind == "dead_lettered"
            ]
        )
        observe_all(self._observers, self.group, records, outcomes)
        with stage("commit"):
            accepted = await commit(records)
        if not accepted:
            metrics.LOST_COMMITS.labels(self.group).inc()
            log.warning("commit_lost", group=self.group, records=len(records))
            await self._repair(good[: len(handled)])
        return outcomes

    def _read(self, records: Sequence[RawRecord]) -> list[Received[Any] | Unreadable | Outcome]:
        """Return each record parsed, or the reason why it cannot be read, or the outcome of an ignored tombstone."""
        return [
            self._read_tombstone(raw) if is_tombstone(raw) else read(raw, self._models, self._judge_at)
            for raw in records
        ]

    def _read_tombstone(self, raw: RawRecord) -> Received[Any] | Outcome:
        return (read_tombstone(raw) if self._handler.takes_tombstones else None) or TOMBSTONE

    def _count_dropped(self, good: Sequence[Received[Any]]) -> None:
        """Count optional fields that were dropped because they are invalid.

        Only one consumer group counts them for each topic.
        """
        for one in good:
            if one.dropped and one.topic in self._keeps:
                for name in one.dropped:
                    metrics.DROPPED_FIELDS.labels(one.topic, name).inc()

    def _outcomes(
        self, read_ones: Sequence[Received[Any] | Unreadable | Outcome], handled: Sequence[Outcome]
    ) -> list[Outcome]:
        """Return the outcomes of all records in order, including those that could not be parsed.

        If the circuit breaker opened, the list ends before the first record that was not handled.
        """
        outcomes: list[Outcome] = []
        left = iter(handled)
        for one in read_ones:
            outcome = next(left, None) if isinstance(one, Received) else self._refusal(one)
            if outcome is None:
                break
            outcomes.append(outcome)
        return outcomes

    def _refusal(self, refused: Unreadable | Outcome) -> Outcome:
        if isinstance(refused, Outcome):
            return refused
        kept = refused.raw.coordinates.topic in self._keeps
        return Outcome.dead_lettered(refused.reason, refused.detail) if kept else Outcome.ignored("set_aside_elsewhere")

    async def _persist(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        """Handle a batch, retrying it during an outage.

        If the batch itself causes the failures, it is bisected to find the failing records.
        """
        attempt = blamed = 0
        while True:
            try:
                return await self._handle(batch)
            except Exception as error:
                attempt += 1
                outage = await self._outage_behind(error)
                if outage is None and not is_transient(error):
                    return await self._take_apart(batch, error)
                cause = error if outage is None or is_transient(error) else outage
                self.stall.mark_waiting(in_words(cause))
                metrics.RETRIES.labels(self.group).inc()
                log.warning("batch_waits", group=self.group, attempt=attempt, error=type(cause).__name__)
                blamed = blamed + 1 if outage is None else 0
                if blamed >= (BISECT_AFTER if len(batch) > 1 else BLAME_AFTER):
                    return await self._take_apart(batch, error)
            await self.backoff.wait(attempt)

    async def _handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        outcomes = await self._handler.handle(batch)
        self.breaker.handled(Counter([one.topic for one in batch]))
        self.stall.mark_progress()
        return outcomes

    async def _outage_behind(self, error: Exception) -> Exception | None:
        """Return the outage that caused `error`, or None if there is none.

        If `error` is not an outage itself, the handler's dependencies are probed, and the error of a failed probe is
        returned. A permanent error needs no probe, because the record has caused it. An apparent bug does, because its
        cause may be a schema that is too new for this program.
        """
        if is_outage(error):
            return error
        if permanent_reason(error) is not None:
            return None
        try:
            await self._probe()
        except Exception as outage:
            if not is_transient(outage):
                raise
            return outage
        return None

    async def _take_apart(self, batch: Sequence[Received[Any]], error: Exception) -> Sequence[Outcome]:
        """Bisect a failed batch, and return the outcomes of its records in order.

        A batch of one record is dead-lettered. If the circuit breaker opens, only the outcomes so far are returned.
        """
        if len(batch) > 1:
            middle = len(batch) // 2
            first = await self._persist_part(batch[:middle])
            if self.breaker.resting:
                return first
            return [*first, *await self._persist_part(batch[middle:])]
        reason = permanent_reason(error)
        if reason is None:
            reason = "bug"
            metrics.BUGS.labels(self.group).inc()
            at = str(batch[0].raw.coordinates)
            log.error("bug", group=self.group, at=at, error=type(error).__name__, where=frames(error))
            self.breaker.failed(batch[0].topic, Bug(signature_of(error), _conversation_of(batch[0])))
            await self._hold_if_all_fail(batch[0].topic)
        else:
            self.breaker.handled({batch[0].topic: 1})
        self.stall.mark_progress()
        return [Outcome.dead_lettered(reason)]

    async def _hold_if_all_fail(self, topic: str) -> None:
        """Hold the consumer group if every record of `topic` seems to fail.

        After several bugs in a row, a few records of other conversations in the batch are handled as a test. If one of
        them succeeds, the group is not held. One hostile record that is sent repeatedly can therefore not hold the
        group. The test records are handled again when it is their turn.

        A held group attempts one record per minute until one succeeds, so a bad release causes only a few dead letters.
        """
        failed = self.breaker.suspects(topic)
        if not failed:
            return
        for witness in self._others(topic, failed)[:WITNESSES]:
            try:
                await self._handle([witness])
            except Exception as error:
                log.debug("witness_failed", group=self.group, error=type(error).__name__)
            else:
                return
        if self.breaker.condemn(topic):
            log.error("group_held", group=self.group, why=self.breaker.why)

    def _others(self, topic: str, failed: Collection[Conversation]) -> list[Any]:
        """Return a record of `topic`, the last one, from each conversation in the batch that is not in `failed`.

        Records of tenants without a conversation in `failed` come first.
        """
        last = {_conversation_of(one): one for one in self._at_work if one.topic == topic}
        tenants = {conversation[0] for conversation in failed}
        others = [conversation for conversation in reversed(last) if conversation not in failed]
        return [last[one] for one in sorted(others, key=lambda conversation: conversation[0] in tenants)]

    async def _persist_part(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        """Handle a part of a batch, and bisect it further if it fails without an outage.

        A single record is retried like a whole batch.
        """
        if len(batch) == 1:
            return await self._persist(batch)
        try:
            return await self._handle(batch)
        except Exception as error:
            if await self._outage_behind(error) is not None:
                return await self._persist(batch)
            return await self._take_apart(batch, error)

    async def _set_aside(self, refused: Sequence[Unreadable]) -> None:
        """Write dead letters for `refused`, one for each group of equal records.

        They are written in chunks of a few megabytes, and each chunk is acknowledged before the next one is written.
        """
        offsets = {id(one): found for one, found in joined_records(refused)}
        for piece in _pieces([one for one in refused if id(one) in offsets]):
            letters = [
                dead_letter(
                    one.raw,
                    service=self.group,
                    reason=one.reason,
                    error_class="permanent",
                    detail=one.detail,
                    offsets=offsets[id(one)],
                )
                for one in piece
            ]
            await self._until_up(partial(self._letters.send, letters), self.backoff, self._letters_wait)
            for (topic, reason), count in Counter((one.raw.coordinates.topic, one.reason) for one in piece).items():
                metrics.DEAD_LETTERS.labels(self.group, topic, reason).inc(count)
            await self._note_dead_letters(piece)

    def _letters_wait(self, error: Exception, attempt: int) -> None:
        """Report that dead letters cannot be written. No further record is processed until they are."""
        why = type(error.__cause__ or error).__name__
        self.stall.mark_waiting(f"dead letters cannot be written ({why})")
        metrics.DEAD_LETTER_FAILURES.labels(self.group).inc()
        log.error("dead_letters_wait", group=self.group, attempt=attempt, error=why)

    async def _repair(self, batch: Sequence[Received[Any]]) -> None:
        await self._until_up(lambda: self._handler.commit_lost(batch), self.repair_backoff, self._repair_waits)

    def _repair_waits(self, error: Exception, attempt: int) -> None:
        self.stall.mark_waiting(in_words(error))
        log.warning("repair_waits", group=self.group, attempt=attempt, error=type(error).__name__)

    async def _until_up(
        self, work: Callable[[], Awaitable[object]], backoff: Backoff, say: Callable[[Exception, int], None]
    ) -> None:
        """Repeat `work` until it succeeds, with increasing delays. Errors that are not transient are raised.

        Args:
            say: A callback for each transient error, with the error and the number of failed attempts.
        """
        attempt = 0
        while True:
            try:
                await work()
            except Exception as error:
                if not is_transient(error):
                    raise
                attempt += 1
                say(error, attempt)
            else:
                self.stall.mark_progress()
                return
            await backoff.wait(attempt)


def _conversation_of(one: Received[Any]) -> Conversation:
    """Return the record's tenant, project and conversation id, or only the feedback id of an erasure."""
    event = one.event
    if isinstance(event, FeedbackErased):
        return (str(event.feedback_id),)
    return (event.tenant, getattr(event, "project", ""), getattr(event, "conversation_id", ""))


def _pieces(refused: Sequence[Unreadable]) -> Iterator[Sequence[Unreadable]]:
    """Split `refused` into chunks whose values total at most `LETTERS_BYTES`.

    A larger record forms a chunk of its own.
    """
    start = size = 0
    for index, one in enumerate(refused):
        more = len(one.raw.value or b"")
        if index > start and size + more > LETTERS_BYTES:
            yield refused[start:index]
            start, size = index, 0
        size += more
    if refused:
        yield refused[start:]
