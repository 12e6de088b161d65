"""Intake of chat events for all event routes: valid events go to the log, rejected events to a table."""

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

    Events dated too far in the future are written too, but reported as rejected, because consumers will reject them.

    Attributes:
        clock: Provides the time if the log does not timestamp its records. Consumers then run in this process.
        judge_at: Reference time in microseconds for the check for future event times. None means the log's time.
        note_refused: Function that stores rejected events.
    """

    log: Producer
    clock: Clock
    judge_at: int | None = None
    note_refused: Callable[[Collection[EventRefusal]], Awaitable[None]] | None = None

    async def write(self, lines: Sequence[ValidLine]) -> list[RefusedLine]:
        """Write the lines to the log, and wait for the acknowledgement.

        Returns:
            The lines that consumers will reject because of their future times.

        Raises:
            LogFull: The log has no room for the lines.
            Unavailable: The log does not respond.
        """
        written = await self.log.send([line.message for line in lines])
        return [
            RefusedLine(line.number, *fault)
            for line, place in zip(lines, written, strict=True)
            if (fault := future_fault(line.occurred_at, self._time_of(place.log_time)))
        ]

    def _time_of(self, log_time: int | None) -> int:
        """Return the reference time for the check for future event times, which is the same in consumers.

        The result is in microseconds. `log_time` is the time at which the event was written to the log, or None if the
        log has no timestamps.
        """
        if self.judge_at is not None:
            return self.judge_at
        return self.clock.now() if log_time is None else log_time

    async def refuse(self, place: IngestProject, body: bytes, refused: Sequence[RefusedLine]) -> None:
        """Store the rejected lines of a request body, so that the producer can list them later."""
        if self.note_refused is None or not refused:
            return
        lines = body.split(b"\n")
        await self.note_refused(
            [refusal_of_line(place.tenant, place.project, lines[at.line - 1], at.reason, at.detail) for at in refused]
        )

    async def drop(self, place: IngestProject, source: str, reasons: Sequence[str]) -> None:
        """Store the reasons for which a source made no chat events from a payload. Equal reasons share a row."""
        if self.note_refused is not None and reasons:
            await self.note_refused(
                [EventRefusal(place.tenant, place.project, "", "", source, reason) for reason in reasons]
            )
