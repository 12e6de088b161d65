"""Import of a file of judgements into a running log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from contracts.feedback import FeedbackExplicitReceived
from contracts.topics import EXPLICIT_RECEIVED
from servicekit.clock import Clock
from servicekit.log.messages import Message, Producer, Written
from standalone.data_import.mapping import ImportMapping, RejectedRow, SkippedRow
from standalone.data_import.position import ImportProgress, PositionFile
from standalone.data_import.rows import FileRow, rows_of

BATCH: Final = 1_000
SHOWN: Final = 20
"""Maximum number of rejected rows whose line and reason are kept."""


class DryRunLog:
    """Producer for dry runs, which writes nothing."""

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        return []


async def import_file(
    path: Path,
    mapping: ImportMapping,
    producer: Producer,
    clock: Clock,
    *,
    position: PositionFile | None,
    delimiter: str = ",",
    advance: Callable[[int], None] = lambda _: None,
) -> ImportProgress:
    """Publish the judgements in a file, continuing an unfinished import from its stored position.

    The position is stored once the log has acknowledged a batch. If the process is killed in between, the batch is
    published again, which changes nothing because a row always produces the same event.

    Args:
        position: File for the progress, or None to store no progress.
        advance: Called with the number of bytes read since its last call.
    """
    progress = (position.read() if position else None) or ImportProgress()
    rows = islice(rows_of(path, delimiter), progress.rows, None)
    read = 0
    while batch := list(islice(rows, BATCH)):
        events = [event for row in batch if (event := _event(row, mapping, progress, clock.now())) is not None]
        await producer.send([Message.of(EXPLICIT_RECEIVED, event) for event in events])
        for event in events:
            _count(progress.sent, event.reaction or "none")
        progress.rows += len(batch)
        advance(batch[-1].read - read)
        read = batch[-1].read
        if position:
            position.write(progress)
    if position:
        position.remove()
    return progress


def _event(row: FileRow, mapping: ImportMapping, progress: ImportProgress, now: int) -> FeedbackExplicitReceived | None:
    """Convert a row to an event, or count the reason why it is skipped or rejected and return None."""
    found = row.content if isinstance(row.content, RejectedRow) else mapping.event_of(row.content, now)
    match found:
        case RejectedRow(reason):
            progress.rejections += 1
            if len(progress.rejected) < SHOWN:
                progress.rejected.append((row.line, reason))
        case SkippedRow(reason):
            _count(progress.skipped, reason)
        case event:
            return event
    return None


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
