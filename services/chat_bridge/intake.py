"""Writing of chat events to the log, and notes of rejected ones, for every route that accepts events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from chat_bridge.ingest import IngestProject, RefusedLine
from chat_bridge.refused import Refusal, refusal_of_line
from servicekit.clock import Clock
from servicekit.errors import LogFull, Unavailable
from servicekit.log.messages import Message
from servicekit.web.log_writer import LogWriter
from servicekit.web.refusals import refusal_of


@dataclass(frozen=True, slots=True)
class Intake:
    """Writer to the log with its clock. `judge_at` (microseconds) replaces now in the check for future events."""

    log: LogWriter
    clock: Clock
    judge_at: int | None = None
    note_refused: Callable[[Collection[Refusal]], Awaitable[None]] | None = None

    def project(self, tenant: str, project: str) -> IngestProject:
        """Return the project with the time against which its events are checked."""
        return IngestProject(tenant, project, self.clock.now() if self.judge_at is None else self.judge_at)

    async def write(self, messages: Sequence[Message]) -> None:
        """Write `messages` and wait for the acknowledgement. Raises the HTTP errors 429 (full) and 503 (no answer)."""
        try:
            await self.log.write(messages)
        except (LogFull, Unavailable) as error:
            raise refusal_of(error) from None

    async def refuse(self, place: IngestProject, body: bytes, refused: Sequence[RefusedLine]) -> None:
        """Note rejected lines of `body`, so that their producer can list them later."""
        if self.note_refused is None or not refused:
            return
        lines = body.split(b"\n")
        await self.note_refused(
            [refusal_of_line(place.tenant, place.project, lines[at.line - 1], at.reason, at.detail) for at in refused]
        )
