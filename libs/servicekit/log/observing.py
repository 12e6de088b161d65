"""Counting and logging of record outcomes, and their delivery to observers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from contracts.topics import Consumer
from servicekit import metrics
from servicekit.log.outcome import Observation, Observer
from servicekit.log.slots import Slot
from servicekit.logging import logger

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
