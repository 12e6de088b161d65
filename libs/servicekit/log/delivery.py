"""Batch delivery: parse records, handle them, write dead letters, and commit.

All delivery guarantees are implemented here. The effects of a batch are written and acknowledged before its offsets are
committed, so after a crash the batch is delivered again. Handlers must therefore be idempotent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from contracts.base import Envelope
from contracts.topics import Consumer, Topic, consumed_by
from redaction.redactor import Redactor
from servicekit import metrics
from servicekit.clock import Clock, StageTimes, current_times, stage
from servicekit.error_kinds import in_words, is_outage, is_transient, permanent_reason
from servicekit.log.backoff import Backoff
from servicekit.log.dead_letters import letters_of
from servicekit.log.handler import Handler, Slot, set_outcomes
from servicekit.log.health import PROBE_SECONDS, Breaker, Stall
from servicekit.log.outcome import TOMBSTONE, Observation, Observer, Outcome
from servicekit.log.records import Producer, RawRecord, Received, Unreadable, is_tombstone, read, read_tombstone
from servicekit.log.redacting import redact_all
from servicekit.logging import frames, logger

if TYPE_CHECKING:
    from servicekit.otlp import BatchTrace, ServiceTracing

BISECT_AFTER = 5
"""Number of transient failures while the probe succeeds, after which a batch is bisected as for a bug."""
BLAME_AFTER = 9
"""Number of transient failures while the probe succeeds, after which a single record is treated as a bug.

The attempts take 25 to 51 s. The number is large because of connections that lose only some responses: until the
network is repaired, a batch may fail although every probe succeeds.
"""
log = logger("delivery")
outcome_log = logger("outcome")

Commit = Callable[[Sequence[RawRecord]], Awaitable[bool]]
"""Function that commits the offsets of records. It returns True if the log accepted the commit and no other consumer
can have processed the records."""


NoteDeadLetters = Callable[[Sequence[Slot]], Awaitable[None]]
"""Function that is called with records after their dead letters have been written. Must not raise."""
Work = Callable[[], Awaitable[object]]
Late = tuple[Received[Any], Outcome]
"""A record that the service has stored, and its late outcome."""


async def _no_outage() -> None:
    """Default probe for handlers without dependencies: always succeeds."""


async def ignore_dead_letters(_: Sequence[Slot]) -> None:
    """Default of `note_dead_letters`: does nothing."""


class GroupOutcomes:
    """Recorder of a consumer group's outcomes: dead letters, metrics, log lines and observers.

    A service also reports those outcomes here that become known only after a record's batch.
    """

    def __init__(
        self,
        group: Consumer,
        producer: Producer,
        observers: Sequence[Observer] = (),
        note_dead_letters: NoteDeadLetters = ignore_dead_letters,
    ) -> None:
        self._group: Consumer = group
        self.producer = producer
        self._observers = tuple(observers)
        self._note_dead_letters = note_dead_letters

    async def write_letters(
        self,
        slots: Sequence[Slot],
        repeat: Callable[[Callable[[], Awaitable[object]]], Awaitable[object]] | None = None,
    ) -> None:
        """Write the dead letters of records in chunks of a few megabytes, each acknowledged before the next one.

        Args:
            repeat: A function that repeats a write until it succeeds; by default, its error is raised.
        """
        letters = [slot for slot in slots if slot.is_dead_letter]
        for chunk in letters_of(letters, self._group) if letters else ():
            write = partial(self.producer.send, [letter.message for letter in chunk])
            await (write() if repeat is None else repeat(write))
            for letter in chunk:
                metrics.DEAD_LETTERS.labels(self._group, letter.slot.topic, letter.reason).inc()
                self._log(letter.slot)
            await self._note_dead_letters([letter.slot for letter in chunk])

    def observe(self, slots: Sequence[Slot], logged: Container[str], *, late: bool = False) -> None:
        """Count the outcomes of records, log those that are ignored or parked, and pass them to all observers.

        Args:
            logged: The topics whose records are logged. Each topic has one group that logs its records.
            late: True if the outcomes became known only after the records' batch.
        """
        for (topic, outcome), count in Counter([(slot.topic, slot.outcome) for slot in slots]).items():
            assert outcome is not None
            metrics.RECORDS.labels(self._group, topic, outcome.kind, outcome.reason).inc(count)
        for slot in slots:
            outcome = slot.outcome
            assert outcome is not None
            if outcome.kind in ("ignored", "parked") and slot.topic in logged:
                self._log(slot)
            for observer in self._observers:
                letter = slot.is_dead_letter
                position = str(slot.raw.coordinates) if letter or late else ""
                ids = slot.ids if letter else None
                observer(Observation(self._group, slot.topic, slot.cause, outcome, position, ids))

    async def set_aside(self, late: Sequence[Late]) -> None:
        """Write dead letters for records, and wait until the log acknowledges them."""
        await self.write_letters([Slot(received.raw, received, outcome) for received, outcome in late])

    async def note(self, late: Sequence[Late]) -> None:
        """Count late outcomes, and pass them to the observers."""
        slots = [Slot(received.raw, received, outcome) for received, outcome in late]
        self.observe(slots, {slot.topic for slot in slots}, late=True)

    def _log(self, slot: Slot) -> None:
        """Log the outcome of a record that is not stored, with the ids of its event as far as they can be read."""
        assert slot.outcome is not None
        ids = slot.ids
        outcome_log.info(
            "not_stored",
            group=self._group,
            at=str(slot.raw.coordinates),
            event_id=ids and ids.event_id,
            conversation_id=ids and ids.conversation_id,
            message_id=ids and ids.message_id,
            outcome=slot.outcome.kind,
            reason=slot.outcome.reason,
            detail=slot.outcome.detail,
        )


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
        reference_time: int | None = None,
        observers: Sequence[Observer] = (),
        backoff: Backoff | None = None,
        probe: Callable[[], Awaitable[None]] = _no_outage,
        note_dead_letters: NoteDeadLetters = ignore_dead_letters,
        redactor: Redactor | None = None,
        tracing: ServiceTracing | None = None,
    ) -> None:
        self.group = group
        self.topics: tuple[Topic, ...] = consumed_by(group)
        self._models: Mapping[str, type[Envelope]] = {topic.name: topic.event for topic in self.topics}
        self._letter_topics = {topic.name for topic in self.topics if topic.consumers[0] == group}
        """Topics whose dead letters this group writes: each topic's first group does."""
        self._handler = handler
        self._probe = probe
        self.outcomes = GroupOutcomes(group, letters, observers, note_dead_letters)
        self._redactor = redactor
        self._tracing = tracing
        self._clock = clock
        self._reference_time = reference_time
        self.backoff = backoff or Backoff()
        self.repair_backoff = Backoff(pick=self.backoff.pick)
        """Backoff of repairs; only a stop ends it, since a repair continues after the partitions are revoked."""
        self.breaker = Breaker()
        self.stall = Stall(clock)
        self.began = clock.monotonic()
        """Start of the current batch, in seconds of the monotonic clock."""

    async def deliver(self, records: Sequence[RawRecord], commit: Commit) -> None:
        """Process and commit `records`. While the breaker holds the group, only one record per minute is attempted.

        Raises Interrupted if the records that are not committed yet must be delivered again.
        """
        try:
            while records:
                if self.breaker.held:
                    self.stall.mark_idle()
                    await self.backoff.wait_seconds(PROBE_SECONDS)
                done = await self._process(records[:1] if self.breaker.held else records, commit)
                records = records[done:]
        finally:
            self.stall.mark_idle()

    async def _process(self, records: Sequence[RawRecord], commit: Commit) -> int:
        """Process a batch in five steps, and return the number of committed records.

        The batch ends early, before the first record without an outcome, if the breaker holds the group.
        """
        slots = [Slot(raw) for raw in records]
        with self._measured(slots):
            with stage("read"):
                if self._redactor is not None and not self._redactor.is_off:
                    await redact_all(slots, self._redactor, self._letter_topics)
                self._read(slots)
            await self._settle([slot for slot in slots if slot.outcome is None])
            done = list(takewhile(lambda slot: slot.outcome is not None, slots))
            await self.outcomes.write_letters(done, self._until_written)
            self.outcomes.observe(done, self._letter_topics)
            with stage("commit"):
                accepted = await commit([slot.raw for slot in done])
            if not accepted:
                await self._repair([slot for slot in done if slot.received is not None])
        return len(done)

    def _read(self, slots: Sequence[Slot]) -> None:
        """Parse the records, and set the outcomes of those that do not reach the handler."""
        for slot in slots:
            if is_tombstone(slot.raw):
                slot.received = read_tombstone(slot.raw) if self._handler.takes_tombstones else None
                slot.outcome = TOMBSTONE if slot.received is None else None
                continue
            result = read(slot.raw, self._models, self._reference_time)
            if isinstance(result, Unreadable):
                slot.outcome = (
                    Outcome.dead_lettered(result.reason, result.detail)
                    if slot.topic in self._letter_topics
                    else Outcome.ignored("set_aside_elsewhere")
                )
            else:
                slot.received = result

    async def _settle(self, slots: Sequence[Slot], most_blamed: int = BISECT_AFTER) -> None:
        """Handle records and set their outcomes. Retries during an outage, and otherwise bisects a batch that fails.

        If the breaker holds the group, the remaining records get no outcome.

        Args:
            most_blamed: The number of transient failures without an outage after which the batch is bisected.
        """
        if not slots or (error := await self._handle(slots, BLAME_AFTER if len(slots) == 1 else most_blamed)) is None:
            return
        if len(slots) == 1:
            self._blame(slots[0], error)
            return
        middle = len(slots) // 2
        await self._settle(slots[:middle], 1)
        if not self.breaker.held:
            await self._settle(slots[middle:], 1)

    async def _handle(self, slots: Sequence[Slot], most_blamed: int) -> Exception | None:
        """Pass records to the handler until it succeeds, waiting during an outage.

        Returns:
            None, or the error if the records themselves cause it.
        """
        attempt = blamed = 0
        while True:
            try:
                set_outcomes(slots, await self._handler.handle([slot.received for slot in slots]))
            except Exception as error:
                outage = await self._outage_behind(error)
                blamed = blamed + 1 if outage is None else 0
                if outage is None and (blamed >= most_blamed or not is_transient(error)):
                    return error
                attempt += 1
                cause = error if outage is None or is_transient(error) else outage
                metrics.RETRIES.labels(self.group).inc()
                self._wait_for("batch_waits", cause, attempt)
                await self.backoff.wait(attempt)
            else:
                self.breaker.succeeded(Counter([slot.topic for slot in slots]))
                self.stall.mark_progress()
                return None

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

    def _blame(self, slot: Slot, error: Exception) -> None:
        """Dead-letter a record that makes the handler fail. A bug in our own code counts towards the breaker."""
        self.stall.mark_progress()
        if (reason := permanent_reason(error)) is not None:
            slot.outcome = Outcome.dead_lettered(reason)
            self.breaker.succeeded({slot.topic: 1})
            return
        slot.outcome = Outcome.dead_lettered("bug")
        was_held = self.breaker.held
        self.breaker.failed(slot.topic, slot.conversation)
        metrics.BUGS.labels(self.group).inc()
        position = str(slot.raw.coordinates)
        log.error("bug", group=self.group, at=position, error=type(error).__name__, where=frames(error))
        if self.breaker.held and not was_held:
            log.error("group_held", group=self.group, topic=slot.topic)

    async def _until_written(self, write: Work) -> None:
        await self._until_up(write, self.backoff, self._letters_wait)

    def _letters_wait(self, error: Exception, attempt: int) -> None:
        """Report that dead letters cannot be written. No further record is processed until they are."""
        why = type(error.__cause__ or error).__name__
        self.stall.mark_waiting(f"dead letters cannot be written ({why})")
        metrics.DEAD_LETTER_FAILURES.labels(self.group).inc()
        log.error("dead_letters_wait", group=self.group, attempt=attempt, error=why)

    async def _repair(self, slots: Sequence[Slot]) -> None:
        """Let the handler repair the effects of records whose commit was rejected or came too late."""
        metrics.LOST_COMMITS.labels(self.group).inc()
        log.warning("commit_lost", group=self.group, records=len(slots))
        batch = [slot.received for slot in slots]
        await self._until_up(
            partial(self._handler.commit_lost, batch), self.repair_backoff, partial(self._wait_for, "repair_waits")
        )

    def _wait_for(self, event: str, error: Exception, attempt: int) -> None:
        """Report that the batch waits for a dependency to recover."""
        self.stall.mark_waiting(in_words(error))
        log.warning(event, group=self.group, attempt=attempt, error=type(error).__name__)

    async def _until_up(self, work: Work, backoff: Backoff, report: Callable[[Exception, int], None]) -> None:
        """Repeat `work` until it succeeds, with increasing delays. Errors that are not transient are raised.

        Args:
            report: A callback for each transient error, with the error and the number of failed attempts.
        """
        attempt = 0
        while True:
            try:
                await work()
            except Exception as error:
                if not is_transient(error):
                    raise
                attempt += 1
                report(error, attempt)
            else:
                self.stall.mark_progress()
                return
            await backoff.wait(attempt)

    @contextmanager
    def _measured(self, slots: Sequence[Slot]) -> Iterator[None]:
        """Measure the times of a batch for the metrics and its span."""
        self.began = self._clock.monotonic()
        self.stall.mark_progress()
        times = StageTimes()
        token = current_times.set(times)
        trace = self._tracing.begin(self.group, slots) if self._tracing is not None else None
        try:
            yield
        except BaseException as error:
            if trace is not None:
                trace.ended(slots, times, type(error).__name__)
            raise
        finally:
            current_times.reset(token)
        if trace is not None:
            trace.ended(slots, times)
        self._count([slot.raw for slot in slots if slot.outcome is not None], times, trace)

    def _count(self, records: Sequence[RawRecord], times: StageTimes, trace: BatchTrace | None) -> None:
        """Update the metrics for a committed batch."""
        metrics.BATCH_SECONDS.labels(self.group).observe(self._clock.monotonic() - self.began)
        metrics.BATCH_RECORDS.labels(self.group).observe(len(records))
        metrics.BREAKER.labels(self.group).set(self.breaker.held)
        for name, span in times.spans.items():
            metrics.STAGE_SECONDS.labels(self.group, name).observe(span.seconds)
        now = self._clock.now()
        seconds = metrics.EVENT_SECONDS.labels(self.group)
        exemplar = None if trace is None else {"trace_id": trace.trace_id}
        for raw in records:
            seconds.observe(max(0, now - raw.log_time) / 1_000_000, exemplar)
