"""Records of a batch on their way through a delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contracts.feedback import FeedbackErased
from servicekit.log.breaker import Conversation
from servicekit.log.outcome import Outcome
from servicekit.log.record_ids import RecordIds, ids_of
from servicekit.log.records import RawRecord, Received, cause_of


@dataclass(slots=True)
class Slot:
    """Record of a batch, with its event once it is parsed and its outcome once it is known."""

    raw: RawRecord
    received: Received[Any] | None = None
    outcome: Outcome | None = None

    @property
    def topic(self) -> str:
        return self.raw.coordinates.topic

    @property
    def is_dead_letter(self) -> bool:
        return self.outcome is not None and self.outcome.kind == "dead_lettered"

    @property
    def cause(self) -> str:
        """Log position of the chat record that this record derives from."""
        return cause_of(self.raw)

    @property
    def event(self) -> Any:
        """Parsed event. Must not be called for a record that could not be parsed."""
        assert self.received is not None
        return self.received.event

    @property
    def ids(self) -> RecordIds | None:
        """Ids of the record's event, also if the event is invalid (see `ids_of`)."""
        return ids_of(self.raw)

    @property
    def conversation(self) -> Conversation:
        """Tenant, project and conversation id of the event, or only the feedback id of an erasure."""
        event = self.event
        if isinstance(event, FeedbackErased):
            return (str(event.feedback_id),)
        return (event.tenant, getattr(event, "project", ""), getattr(event, "conversation_id", ""))
