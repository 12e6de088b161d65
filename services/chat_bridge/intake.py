"""Write accepted chat events to the log and rejected ones to a table, for all routes that accept events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from chat_bridge.ingest import IngestProject, RefusedLine, ValidLine
from chat_bridge.refused import EventRefusal, refusal_of_line
from contracts.log_time import future_fault
from servicekit import Clock, Producer


@dataclass(frozen=True, slots=True)
class Intake:
    """Writer of chat events to the log.

    `judge_at` (microseconds), if given, replaces the log's time in the check for future events. `clock` replaces the
    log's time if the log has no times; its consumers then run in the same process.
    """

    log: Producer
    clock: Clock
    judge_at: int | None = None
    note_refused: Callable[[Collection[EventRefusal]], Awaitable[None]] | None = None

    async def write(self, lines: Sequence[ValidLine]) -> list[RefusedLine]:
        """Write `lines` and wait for the acknowledgement. Return the lines that consumers will reject as future events.

        Raises LogFull or Unavailable if the log does not accept them.
        """
        written = await self.log.send([line.message for line in lines])
        return [
            RefusedLine(line.number, *fault)
            for line, place in zip(lines, written, strict=True)
            if (fault := future_fault(line.occurred_at, self._time_of(place.log_time)))
        ]

    def _time_of(self, log_time: int | None) -> int:
        """Return the time with which consumers compare an event that was written at `log_time`, in microseconds."""
        if self.judge_at is not None:
            return self.judge_at
        return self.clock.now() if log_time is None else log_time

    async def refuse(self, place: IngestProject, body: bytes, refused: Sequence[RefusedLine]) -> None:
        """Store the rejections of lines of `body`, so that the producer can list them later."""
        if self.note_refused is None or not refused:
            return
        lines = body.split(b"\n")
        await self.note_refused(
            [refusal_of_line(place.tenant, place.project, lines[at.line - 1], at.reason, at.detail) for at in refused]
        )
