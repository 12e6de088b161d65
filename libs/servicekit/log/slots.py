"""Records of a batch on their way through a delivery, and the reporting of their outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import from_json

from contracts.base import ID_LIMIT, ID_PATTERN
from contracts.feedback import FeedbackErased
from contracts.topics import Consumer
from servicekit import metrics
from servicekit.log.health import Conversation
from servicekit.log.outcome import Observation, Observer, Outcome, RecordIds
from servicekit.log.records import RawRecord, Received, cause_of
from servicekit.logging import logger

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ID: Final = re.compile(ID_PATTERN)


def ids_of(raw: RawRecord) -> RecordIds | None:
    """Return the ids in a record's value.

    The result is None if the tenant or project is missing or invalid, or if there is neither a valid event id nor a
    valid message id.
    """
    try:
        event = from_json(raw.value or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not all(_fits(_NAME, event.get(name)) for name in ("tenant", "project")):
        return None
    names = ("eventId", "conversationId", "messageId")
    event_id, conversation, message = (event[name] if _fits(_ID, event.get(name)) else None for name in names)
    if event_id is None and message is None:
        return None
    return RecordIds(event["tenant"], event["project"], event_id, conversation, message)


def _fits(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and len(value) <= ID_LIMIT and pattern.fullmatch(value) is not None


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


log = logger("outcome")


def observe(
    observers: Sequence[Observer], group: Consumer, slots: Sequence[Slot], logged: Container[str], *, late: bool = False
) -> None:
    """Count the outcomes of records, log those that are ignored or parked, and pass them to all observers.

    Args:
        logged: The topics whose records are logged. Each topic has one group that logs its records.
        late: True if the outcomes became known only after the records' batch.
    """
    for (topic, outcome), count in Counter([(slot.topic, slot.outcome) for slot in slots]).items():
        assert outcome is not None
        metrics.RECORDS.labels(group, topic, outcome.kind, outcome.reason).inc(count)
    for slot in slots:
        outcome = slot.outcome
        assert outcome is not None
        if outcome.kind in ("ignored", "parked") and slot.topic in logged:
            log_outcome(group, slot)
        for observer in observers:
            letter = slot.is_dead_letter
            position = str(slot.raw.coordinates) if letter or late else ""
            observer(Observation(group, slot.topic, slot.cause, outcome, position, slot.ids if letter else None))


def log_outcome(group: Consumer, slot: Slot) -> None:
    """Log the outcome of a record that is not stored, with the ids of its event as far as they can be read."""
    assert slot.outcome is not None
    ids = slot.ids
    log.info(
        "not_stored",
        group=group,
        at=str(slot.raw.coordinates),
        event_id=ids and ids.event_id,
        conversation_id=ids and ids.conversation_id,
        message_id=ids and ids.message_id,
        outcome=slot.outcome.kind,
        reason=slot.outcome.reason,
        detail=slot.outcome.detail,
    )
