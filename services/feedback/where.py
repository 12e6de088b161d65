"""Look-up of feedback records and their states for the command `where`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from contracts.feedback import FeedbackErasureRequested
from contracts.ids import revision_event_id
from contracts.where import FeedbackState
from feedback.model import Record
from feedback.reward import key_of
from feedback.store import Store


def feedback_of(event: Any) -> UUID | None:
    """Return the id of the feedback record that an event changes, or None for an erasure."""
    return None if isinstance(event, FeedbackErasureRequested) else key_of(event).feedback_id


async def states_of(store: Store, tenant: str, project: str, feedback_ids: Collection[str]) -> Sequence[FeedbackState]:
    """Return the states of a project's feedback records with these ids."""
    loaded = await store.load([UUID(one) for one in feedback_ids]) if feedback_ids else {}
    return [
        FeedbackState(
            feedback_id=str(record.feedback_id),
            revision=record.revision,
            state=state_of(record),
            announced_as=revision_event_id(record.feedback_id, record.revision),
        )
        for record in loaded.values()
        if (record.key.tenant, record.key.project) == (tenant, project)
    ]


def state_of(record: Record) -> str:
    """Return the state of a record: `live`, `cleared`, `overruled` or `erased`."""
    if record.forgotten:
        return "erased"
    if record.live:
        return "live"
    return "cleared" if record.overruled_by is None else "overruled"
