"""Journal of outcomes: a table with the ids, log position and outcome of each record, but not its content.

A service with a journal creates the table `journal` in its own schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import asyncpg

from contracts.base import Event
from contracts.headers import CAUSE, header
from contracts.topics import FOREIGN
from contracts.where import FOUND_LIMIT
from servicekit.db.sql import SQL
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received
from servicekit.log.slots import Slot
from servicekit.logging import frames, logger

_COLUMNS: Final = (
    *("event_id", "at", "tenant", "project", "cause", "conversation_id", "message_id", "feedback_id"),
    *("outcome", "reason", "detail"),
)
_COPIED: Final = 50
"""Minimum number of rows for which COPY takes less CPU time than an insert, although it needs two round trips."""
_MESSAGE_NAMES: Final = ("message_id", "detected_in_message_id", "agent_message_id")
FeedbackOf = Callable[[Any], UUID | None]
log = logger("journal")


class Journal:
    """Writer for the table `journal`. Errors are logged, not raised."""

    def __init__(self, pool: asyncpg.Pool, feedback_of: FeedbackOf = lambda _: None) -> None:
        self._pool = pool
        self._feedback_of = feedback_of

    async def note(self, batch: Sequence[Any], outcomes: Sequence[Outcome]) -> None:
        """Add the outcomes of a batch to the journal."""
        rows = [
            self._row(received, outcome)
            for received, outcome in zip(batch, outcomes, strict=True)
            if isinstance(received, Received) and outcome.kind != "dead_lettered"
            if hasattr(received.event, "project")
        ]
        await self._append(rows)

    async def note_refused(self, refused: Sequence[Slot]) -> None:
        """Add dead-lettered records to the journal, provided that `ids_of` finds their ids."""
        await self._append([row for row in map(_refused_row, refused) if row is not None])

    async def settle(self, settled: Collection[tuple[Event, str, Outcome]]) -> None:
        """Replace the outcomes of parked records with their final outcomes.

        Args:
            settled: The event, log position and final outcome of each record.
        """
        rows = sorted(
            (event.event_id, at, event.tenant, event.project, outcome.kind, outcome.reason)
            for event, at, outcome in settled
        )
        if rows:
            with _logged(len(rows)):
                await self._pool.execute(*SQL.settle_outcomes.bulk(rows))

    async def _append(self, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            with _logged(len(rows)):
                if len(rows) < _COPIED:
                    await self._pool.execute(*SQL.append_outcomes.bulk(rows))
                else:
                    await self._pool.copy_records_to_table("journal", records=rows, columns=_COLUMNS)

    def _row(self, received: Received[Any], outcome: Outcome) -> tuple[Any, ...]:
        event, raw = received.event, received.raw
        # A chat record is its own cause.
        cause = None if raw.coordinates.topic in FOREIGN else header(raw.headers, CAUSE)
        place = (event.event_id, str(raw.coordinates), event.tenant, event.project, cause)
        conversation, message = _about(event.__class__)(event)
        return (*place, conversation, message, self._feedback_of(event), outcome.kind, outcome.reason, "")


@cache
def _about(kind: type[Any]) -> Callable[[Any], tuple[str | None, str | None]]:
    """Return a function that reads the conversation id and the message id from an event of the type `kind`."""
    # For posts, the message id is a property.
    message = next((name for name in _MESSAGE_NAMES if name in kind.model_fields or hasattr(kind, name)), None)
    if message is None:
        return lambda event: (getattr(event, "conversation_id", None), None)
    return attrgetter("conversation_id", message)


@contextmanager
def _logged(records: int) -> Iterator[None]:
    """Log errors raised in this block instead of propagating them.

    Args:
        records: The number of records that the block writes, for the log line.
    """
    try:
        yield
    except Exception as error:
        log.warning("journal_not_written", records=records, error=type(error).__name__, where=frames(error))


class JournalReader:
    """Search in a journal of outcomes."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def find(
        self, tenant: str, project: str, events: Collection[str], messages: Collection[str], causes: Collection[str]
    ) -> Sequence[Mapping[str, Any]]:
        """Return a project's journal entries that match any of the event ids, message ids or causes, latest first."""
        given = {"events": list(events), "messages": list(messages), "causes": list(causes)}
        statement = SQL.find_outcomes(tenant=tenant, project=project, limit=FOUND_LIMIT, **given)
        return [dict(row) for row in await self._pool.fetch(*statement)]


class JournalingHandler(Handler):
    """Handler wrapper that writes outcomes to a journal before the batch is committed.

    Args:
        is_noted: The filter for the outcomes to write. Dead letters are left to the service, which adds them to the
            journal once they are written (`note_refused`).
    """

    def __init__(self, inner: Handler, journal: Journal, is_noted: Callable[[Outcome], bool] = lambda _: True) -> None:
        self._inner = inner
        self._journal = journal
        self._is_noted = is_noted
        self.takes_tombstones = inner.takes_tombstones

    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        outcomes = await self._inner.handle(batch)
        noted = [index for index, outcome in enumerate(outcomes) if self._is_noted(outcome)]
        await self._journal.note([batch[index] for index in noted], [outcomes[index] for index in noted])
        return outcomes

    async def commit_lost(self, batch: Sequence[Any]) -> None:
        await self._inner.commit_lost(batch)


def _refused_row(refused: Slot) -> tuple[Any, ...] | None:
    """Return the journal row for a dead letter, or None if `ids_of` finds no ids.

    Invalid ids are treated as missing.
    """
    ids = refused.ids
    if ids is None or refused.outcome is None:
        return None
    place = (ids.event_id or "", str(refused.raw.coordinates), ids.tenant, ids.project)
    cause = header(refused.raw.headers, CAUSE)
    about = (ids.conversation_id, ids.message_id)
    return (*place, cause, *about, None, "dead_lettered", refused.outcome.reason, refused.outcome.detail)
