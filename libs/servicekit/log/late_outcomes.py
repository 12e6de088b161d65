"""Outcomes of records that are known only after their batch, such as those of parked events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from contracts.base import Event
from contracts.headers import Headers
from contracts.topics import Consumer
from servicekit.log.dead_letters import dead_letter
from servicekit.log.journal import Journal
from servicekit.log.messages import Producer
from servicekit.log.observing import observe
from servicekit.log.outcome import DeadLettered, Observation, Observer, Outcome
from servicekit.log.records import Coordinates, RawRecord, Unreadable

NoteSetAside = Callable[[Sequence[Unreadable]], Awaitable[None]]
"""Callback for records whose dead letters are written. Must not raise."""


@dataclass(frozen=True, slots=True)
class LateOutcome:
    """Outcome of a record, with what the service has kept of the record.

    `cause` has the record's coordinates; `log_time` is its first log time in microseconds.
    """

    outcome: Outcome
    event: Event
    cause: str
    key: bytes | None
    value: bytes
    headers: Headers
    log_time: int

    @property
    def topic(self) -> str:
        return self.cause.rsplit(":", 2)[0]

    @property
    def raw(self) -> RawRecord:
        topic, partition, offset = self.cause.rsplit(":", 2)
        at = Coordinates(topic, int(partition), int(offset))
        return RawRecord(at, self.key, self.value, self.headers, self.log_time)


class LateOutcomes:
    """Writes the dead letters of a group's late outcomes, and counts, journals and passes them to observers."""

    def __init__(
        self,
        group: Consumer,
        producer: Producer,
        observers: Sequence[Observer] = (),
        journal: Journal | None = None,
        note_set_aside: NoteSetAside | None = None,
    ) -> None:
        self._group: Consumer = group
        self._producer = producer
        self._observers = observers
        self._journal = journal
        self._note_set_aside = note_set_aside

    async def set_aside(self, late: Sequence[LateOutcome]) -> None:
        """Write the dead letters of the outcomes that are DeadLettered; acknowledged on return."""
        refused = [
            Unreadable(one.raw, one.outcome.reason, one.outcome.detail)
            for one in late
            if isinstance(one.outcome, DeadLettered)
        ]
        await self._producer.send(
            [dead_letter(one.raw, service=self._group, reason=one.reason, error_class="permanent") for one in refused]
        )
        if refused and self._note_set_aside is not None:
            await self._note_set_aside(refused)

    async def note(self, late: Sequence[LateOutcome]) -> None:
        """Journal the outcomes, count them and pass them to the observers."""
        if self._journal is not None:
            await self._journal.settle([(one.event, one.cause, one.outcome) for one in late])
        for one in late:
            observe(self._observers, Observation(self._group, one.topic, one.cause, one.outcome))
