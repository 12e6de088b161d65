"""Publication of event files in batches, with the log position of each line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from servicekit.log.records import Coordinates, Message, Producer
from standalone.one_process.lines import Routed, lines_of, route

BATCH = 500


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, numbered from 1."""

    file: str
    number: int


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that every service rejects.

    `reason` is a sentence or a short name. `detail` names the field and the violated rule.
    """

    line: Line
    reason: str
    detail: str = ""

    def row(self) -> dict[str, object]:
        """Return the line's row for a summary and for the file of `--outcomes`."""
        detail = {"detail": self.detail} if self.detail else {}
        return {"file": self.line.file, "line": self.line.number, "fate": "bad", "reason": self.reason, **detail}


@dataclass
class ReplayResult:
    """Result of a replay. `places` maps each log position to the line that was published there."""

    lines: int = 0
    events: int = 0
    rejected: list[RejectedLine] = field(default_factory=list)
    places: dict[str, Line] = field(default_factory=dict)
    seen: list[Line] = field(default_factory=list)


async def replay(
    files: Sequence[Path],
    producer: Producer,
    account: ReplayResult,
    *,
    keep_places: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Publish the lines of `files` in order.

    Args:
        account: Result, which is updated in the course of the replay.
        keep_places: True to record all lines and their log positions.
        progress: Called with the number of bytes read since its last call.
    """
    for file in files:
        batch: list[tuple[Line, Routed]] = []
        read = 0
        for number, text in lines_of(file):
            line = Line(str(file), number)
            account.lines += 1
            read += len(text) + 1
            if keep_places:
                account.seen.append(line)
            routed = route(text)
            if isinstance(routed, str):
                account.rejected.append(RejectedLine(line, routed))
                continue
            batch.append((line, routed))
            if len(batch) >= BATCH:
                await _publish(batch, producer, account, keep_places)
                batch = []
                progress(read)
                read = 0
        await _publish(batch, producer, account, keep_places)
        progress(read)


async def _publish(
    batch: Sequence[tuple[Line, Routed]], producer: Producer, account: ReplayResult, keep_places: bool
) -> None:
    written = await producer.send([Message(routed.topic, routed.key, routed.value) for _, routed in batch])
    account.events += len(written)
    if keep_places:
        for (line, _), record in zip(batch, written, strict=True):
            account.places[str(Coordinates(record.topic, record.partition, record.offset))] = line
