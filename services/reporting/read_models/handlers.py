"""Handlers that write messages, feedback and session ratings to the read models, and erasures to the access log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, get_args

from contracts.erasure import TrainingChoice
from contracts.feedback import (
    FeedbackCreated,
    FeedbackErased,
    FeedbackErasureRequested,
    FeedbackSessionCreated,
    FeedbackTrainingChosen,
)
from contracts.versions import MessageEvent
from reporting.access.log import AccessLog
from reporting.model.projection import (
    feedback_outcomes,
    feedback_row,
    merged_messages,
    message_outcomes,
    message_row,
    newest_feedbacks,
    session_row,
)
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db.database import ErasureLedger
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received

_MESSAGES: Final = frozenset(get_args(MessageEvent))


class ProjectionHandler(Handler, tombstones=True):
    """Handler of the consumer group `reporting`, which writes the read models."""

    def __init__(
        self,
        store: PostgresReadModels,
        attributes: frozenset[str] = frozenset(),
        access_log: AccessLog | None = None,
    ) -> None:
        self._store = store
        self._attributes = attributes
        self.access_log = access_log

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        """Write a batch to the read models.

        Returns the outcome of each record, in order.
        """
        events = [received.event for received in batch]
        # Compare types: isinstance on a pydantic model takes longer than building the row.
        named = self._attributes
        messages = [
            message_row(record.event, named, record.position) for record in batch if type(record.event) in _MESSAGES
        ]
        feedbacks = [feedback_row(event, named) for event in events if type(event) is FeedbackCreated]
        rated = [session_row(event) for event in events if type(event) is FeedbackSessionCreated]
        applied = await self._store.apply(
            merged_messages(messages),
            newest_feedbacks(feedbacks),
            forgotten=[event for event in events if type(event) is FeedbackErased],
            sessions=rated,
        )
        of_messages = iter(message_outcomes(messages, applied.written))
        of_feedbacks = iter(feedback_outcomes(feedbacks, applied.before))
        of_sessions = iter([Outcome.STORED if row.id in applied.rated else Outcome.UNCHANGED for row in rated])

        def outcome(event: Any) -> Outcome:
            if type(event) is FeedbackErased:
                return Outcome.STORED
            if type(event) is FeedbackSessionCreated:
                return next(of_sessions)
            return next(of_messages if type(event) in _MESSAGES else of_feedbacks)

        return [outcome(event) for event in events]


class TrainingChoiceHandler(Handler):
    """Handler that stores choices about training, which exports obey, and records them in the access log."""

    def __init__(self, ledger: ErasureLedger, projection: ProjectionHandler) -> None:
        self._ledger = ledger
        self._log = projection.access_log

    async def handle(self, batch: Sequence[Received[FeedbackTrainingChosen]]) -> Sequence[Outcome]:
        choices = [TrainingChoice.of(received.event) for received in batch]
        changed = await self._ledger.note_choices({choice.person: choice for choice in sorted(choices)}.values())
        for received in batch:
            if self._log is not None:
                await self._log.note_request(received.event, "changed training", received.event.event_id)
        return [Outcome.STORED if choice.person in changed else Outcome.UNCHANGED for choice in choices]


class ErasureLogHandler(Handler, tombstones=True):
    """Handler that records erasure requests in the access log, after `inner` has erased the data."""

    def __init__(self, inner: Handler, projection: ProjectionHandler) -> None:
        self._inner = inner
        self._log = projection.access_log

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        outcomes = await self._inner.handle(batch)
        for received in batch:
            if self._log is not None and isinstance(received.event, FeedbackErasureRequested):
                await self._log.note_request(received.event, "erased", received.event.request_id)
        return outcomes
