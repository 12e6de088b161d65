"""Import of a file of judgements into a running log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from standalone.data_import.verdicts import number_of

BATCH: Final = 1_000
SHOWN: Final = 20
"""Maximum number of rejected rows whose line and reason are kept."""
MISSING: Final = "missing"
"""Key of the values that have no verdict."""
_VALUES: Final = 50
"""Maximum number of different values that are counted one by one."""
_VALUE_LENGTH: Final = 60
_OTHER_VALUES: Final = "(other values)"


class JudgedAnswers:
    """Answers that the rows of a file have judged, by person. It keeps two hashes per judgement."""

    def __init__(self) -> None:
        self._events: dict[int, int] = {}

    def is_repeated(self, event: FeedbackExplicitReceived) -> bool:
        """Return True if another row has judged the answer for the same person. Versions of one row are not others."""
        key = hash((event.conversation_id, event.turn_id, event.user_id, event.reviews is None))
        event_hash = hash(event.event_id)
        return self._events.setdefault(key, event_hash) != event_hash


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
    rows = rows_of(path, delimiter)
    answers = JudgedAnswers()
    for event in _events(islice(rows, progress.rows), mapping, ImportProgress(), clock.now()):
        answers.is_repeated(event)
    read = 0
    while batch := list(islice(rows, BATCH)):
        events = list(_events(batch, mapping, progress, clock.now()))
        await producer.send([Message.of(EXPLICIT_RECEIVED, event) for event in events])
        for event in events:
            _count(progress.sent, event.reaction or "none")
            progress.repeated += answers.is_repeated(event)
        progress.rows += len(batch)
        advance(batch[-1].read - read)
        read = batch[-1].read
        if position:
            position.write(progress)
    if position:
        position.remove()
    return progress


def _events(
    rows: Iterable[FileRow], mapping: ImportMapping, progress: ImportProgress, now: int
) -> Iterator[FeedbackExplicitReceived]:
    """Convert rows to events, and count values and the reasons why rows are skipped or rejected."""
    for row in rows:
        cells = row.content
        if isinstance(cells, RejectedRow):
            _reject(progress, row, cells.reason)
            continue
        match mapping.event_of(cells, now):
            case RejectedRow(reason, value):
                _reject(progress, row, reason)
                if value is not None:
                    _count_value(progress, MISSING, value)
            case SkippedRow(reason, value):
                _count(progress.skipped, reason)
                if value is not None:
                    _count_value(progress, "skip", value)
            case event:
                _count_value(progress, event.reaction or "none", mapping.value_of(cells) or "")
                yield event


def _reject(progress: ImportProgress, row: FileRow, reason: str) -> None:
    progress.rejections += 1
    if len(progress.rejected) < SHOWN:
        progress.rejected.append((row.line, reason))


def _count_value(progress: ImportProgress, verdict: str, value: str) -> None:
    number = number_of(value)
    name = value.strip().casefold() if number is None else f"{number:.15g}"
    name = "".join(character if character.isprintable() else " " for character in name[:_VALUE_LENGTH])
    counts = progress.values.setdefault(verdict, {})
    _count(counts, name if name in counts or len(counts) < _VALUES else _OTHER_VALUES)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
