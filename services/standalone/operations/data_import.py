"""Import of a file of judgements into a running log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from contracts.feedback import FeedbackExplicitReceived
from contracts.topics import EXPLICIT_RECEIVED
from servicekit.clock import Clock
from servicekit.errors import LogUnavailable
from servicekit.log.cluster import cluster_at
from servicekit.log.records import Message, Producer, Written
from servicekit.log.redacting import RedactingProducer, configured_redactor
from standalone.data_import.mapping import ImportMapping, RejectedRow, SkippedRow
from standalone.data_import.rows import FileRow, rows_of
from standalone.data_import.verdicts import number_of
from standalone.operations.log_access import LogTarget, target_of, writing_to
from standalone.terminal import DependencyLost

BATCH: Final = 1_000
SHOWN: Final = 20
"""Maximum number of rejected rows whose line and reason are kept."""
MISSING: Final = "missing"
"""Key of the values that have no verdict."""
_VALUES: Final = 50
"""Maximum number of different values that are counted one by one."""
_VALUE_LENGTH: Final = 60
_OTHER_VALUES: Final = "(other values)"


@dataclass
class ImportCounts:
    """Number of rows that an import has read, by outcome.

    Attributes:
        rows: Number of rows read.
        sent: Number of rows written to the log, by verdict.
        skipped: Number of rows left out on purpose, by reason.
        values: Number of rows by verdict and value; rows whose value has no verdict are under `missing`.
        repeated: Number of imported rows that judge an answer which another row judges for the same person.
        rejections: Number of rejected rows.
        rejected: Line numbers and reasons of the first rejected rows.
    """

    rows: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    values: dict[str, dict[str, int]] = field(default_factory=dict)
    repeated: int = 0
    rejections: int = 0
    rejected: list[tuple[int, str]] = field(default_factory=list)


class JudgedAnswers:
    """Answers that the rows of a file have judged, by person. It keeps two hashes per judgement."""

    def __init__(self) -> None:
        self._events: dict[int, int] = {}

    def is_repeated(self, event: FeedbackExplicitReceived) -> bool:
        """Return True if another row has judged the answer for this person. Versions of a score are not other rows."""
        key = hash((event.conversation_id, event.turn_id, event.user_id, event.reviews is None))
        event_hash = hash(event.event_id)
        return self._events.setdefault(key, event_hash) != event_hash


class DryRunLog:
    """Producer for dry runs, which writes nothing."""

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        return []


@asynccontextmanager
async def import_log(broker: str | None, state: Path, *, dry_run: bool) -> AsyncIterator[Producer]:
    """Yield a producer that redacts judgements and writes to the given broker, or else to the running `up`.

    In a dry run, the producer writes nothing.

    Raises:
        StartError: The log is not available at the start.
        DependencyLost: The log stops responding later.
    """
    if dry_run:
        yield DryRunLog()
        return
    target = LogTarget(cluster_at(broker), "") if broker else target_of(None, state)
    try:
        redactor = configured_redactor()
        async with writing_to(target) as producer:
            yield RedactingProducer(producer, redactor)
    except LogUnavailable as error:
        raise DependencyLost(f"The log did not answer ({error}). Run the same command again: it goes on.") from None


async def import_file(
    path: Path,
    mapping: ImportMapping,
    producer: Producer,
    clock: Clock,
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> ImportCounts:
    """Publish the judgements in a file.

    An import that was interrupted is repeated from the start, which changes nothing for the rows that it had published,
    because a row always produces the same event.

    Args:
        advance: Called with the number of bytes read since its last call.
    """
    counts, answers = ImportCounts(), JudgedAnswers()
    rows, read = rows_of(path), 0
    while batch := list(islice(rows, BATCH)):
        events = list(_events(batch, mapping, counts, clock.now()))
        await producer.send([Message.of(EXPLICIT_RECEIVED, event) for event in events])
        for event in events:
            _count(counts.sent, event.reaction or "none")
            counts.repeated += answers.is_repeated(event)
        counts.rows += len(batch)
        advance(batch[-1].read - read)
        read = batch[-1].read
    return counts


def _events(
    rows: Iterable[FileRow], mapping: ImportMapping, counts: ImportCounts, now: int
) -> Iterator[FeedbackExplicitReceived]:
    """Convert rows to events, and count values and the reasons why rows are skipped or rejected."""
    for row in rows:
        cells = row.content
        if isinstance(cells, RejectedRow):
            _reject(counts, row, cells.reason)
            continue
        match mapping.event_of(cells, now):
            case RejectedRow(reason, value):
                _reject(counts, row, reason)
                if value is not None:
                    _count_value(counts, MISSING, value)
            case SkippedRow(reason, value):
                _count(counts.skipped, reason)
                if value is not None:
                    _count_value(counts, "skip", value)
            case event:
                _count_value(counts, event.reaction or "none", mapping.value_of(cells) or "")
                yield event


def _reject(counts: ImportCounts, row: FileRow, reason: str) -> None:
    counts.rejections += 1
    if len(counts.rejected) < SHOWN:
        counts.rejected.append((row.line, reason))


def _count_value(counts: ImportCounts, verdict: str, value: str) -> None:
    number = number_of(value)
    name = value.strip().casefold() if number is None else f"{number:.15g}"
    name = "".join(character if character.isprintable() else " " for character in name[:_VALUE_LENGTH])
    by_name = counts.values.setdefault(verdict, {})
    _count(by_name, name if name in by_name or len(by_name) < _VALUES else _OTHER_VALUES)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
