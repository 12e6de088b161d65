"""Writing of chat events and of notes about rejected events, shared by all routes that accept events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from chat_bridge.ingest import IngestProject, RefusedLine, ValidLine
from chat_bridge.refused import EventRefusal, refusal_of_line
from contracts.log_time import future_fault
from servicekit import Clock, Producer


@dataclass(frozen=True, slots=True)
class Intake:
    """Writer to the log. `judge_at` (microseconds) replaces the log's time in the check for future events.

    For a log without times, `clock` replaces the log's time; its consumers run in the same process.
    """

    log: Producer
    clock: Clock
    judge_at: int | None = None
    note_refused: Callable[[Collection[EventRefusal]], Awaitable[None]] | None = None

    async def write(self, lines: Sequence[ValidLine]) -> list[RefusedLine]:
        """Write `lines` and wait for the acknowledgement. Return the lines that consumers will reject as future events.

        Raises LogFull and Unavailable.
        """
        written = await self.log.send([line.message for line in lines])
        return [
            RefusedLine(line.number, *fault)
            for line, place in zip(lines, written, strict=True)
            if (fault := future_fault(line.occurred_at, self._time_of(place.log_time)))
        ]

    def _time_of(self, log_time: int | None) -> int:
        """Return the time, in microseconds, with which consumers compare an event that was written at `log_time`."""
        if self.judge_at is not None:
            return self.judge_at
        return self.clock.now() if log_time is None else log_time

    async def refuse(self, place: IngestProject, body: bytes, refused: Sequence[RefusedLine]) -> None:
        """Note the rejected lines of `body`, so that their producer can list them later."""
        if self.note_refused is None or not refused:
            return
        lines = body.split(b"\n")
        await self.note_refused(
            [refusal_of_line(place.tenant, place.project, lines[at.line - 1], at.reason, at.detail) for at in refused]
        )
