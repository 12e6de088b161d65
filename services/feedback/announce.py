"""Events that announce feedback records. No I/O.

Equal records give byte-identical events.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, Literal

from contracts.feedback import FeedbackCreated
from contracts.headers import Headers
from contracts.ids import conversation_key, revision_event_id
from contracts.topics import FEEDBACK_CREATED
from feedback.model import Key, Payload, Record
from servicekit.log.messages import Message

_DEFAULTS: Final = {field.name: field.default for field in fields(Payload) if field.name != "provenance"}
"""Default values of a payload's fields, by their names in the event."""
_values_of: Final = attrgetter(*_DEFAULTS)
_ALWAYS_SHOWN: Final = frozenset(
    {
        *("turn_id", "agent_id", "agent_message_id", "user_type", "confidence", "causation_id"),
        *("detector", "decided_by", "question_message_id", "thread_id"),
    }
)
_SHOWN_IF_OVERRULED: Final = _ALWAYS_SHOWN | {"text", "tags", "correction_type"}
"""Fields that are announced for an overruled verdict.

The person's message (`text`) and the detector's rules (`tags`) are needed to measure detectors.
"""


def announcement(record: Record) -> FeedbackCreated:
    """Return the event that announces the current state of a record.

    Raises:
        ValueError: The record was erased. `message_of` returns a tombstone for it.
    """
    shown, key, live = record.current_entry, record.key, record.live
    payload = shown.payload
    change: Literal["created", "updated", "cleared"] = (
        "cleared" if not live else "created" if record.revision == record.created_revision else "updated"
    )
    return FeedbackCreated(
        event_id=revision_event_id(record.feedback_id, record.revision),
        occurred_at=shown.stamp.occurred_at,
        sequence=None if shown.stamp.sequence < 0 else shown.stamp.sequence,
        tenant=key.tenant,
        project=key.project,
        feedback_id=record.feedback_id,
        change=change,
        revision=record.revision,
        recorded_at=record.revision * 1_000,
        conversation_id=key.conversation_id,
        user_id=key.user_id,
        origin=record.origin,
        feedback_type=record.feedback_type,
        source=key.source,
        source_id=key.source_id,
        rn=resource_name(record),
        overruled_by=record.overruled_by,
        overruled_reaction=None if record.overruled_by is None else payload.reaction,
        **_shown_fields(
            payload, None if live else _ALWAYS_SHOWN if record.overruled_by is None else _SHOWN_IF_OVERRULED
        ),
        **payload.provenance.fields(),
    )


def _shown_fields(payload: Payload, shown: frozenset[str] | None) -> dict[str, Any]:
    """Return a payload's fields as a dictionary. Its keys are the field names of the event.

    Args:
        shown: The fields to keep. All others get their default values. None keeps all fields.
    """
    values = dict(zip(_DEFAULTS, _values_of(payload), strict=True))
    return values if shown is None else {name: values[name] if name in shown else _DEFAULTS[name] for name in _DEFAULTS}


def resource_name(record: Record) -> str:
    """Return the resource name of a record.

    Its format is `ef:<tenant>:<project>:<user>:<conversation>:<turn>:artifact:<feedbackId>`.
    """
    key = record.key
    turn = record.current_entry.payload.turn_id
    return f"ef:{key.tenant}:{key.project}:{key.user_id}:{key.conversation_id}:{turn}:artifact:{record.feedback_id}"


def message_of(record: Record, headers: Headers = ()) -> Message:
    """Return the Kafka record that announces a feedback record on `feedback.created`.

    An erased record is announced by a tombstone.
    """
    if record.forgotten:
        return tombstone_of(record.key, record.revision, headers)
    value = announcement(record).model_dump_json(by_alias=True).encode()
    return Message(
        FEEDBACK_CREATED.name, str(record.key.feedback_id), value, headers, placed_by=_conversation_of(record.key)
    )


def tombstone_of(key: Key, revision: int, headers: Headers = ()) -> Message:
    """Return the tombstone that deletes all announced revisions of a feedback record up to `revision`."""
    return Message.tombstone(FEEDBACK_CREATED.name, str(key.feedback_id), revision, headers, _conversation_of(key))


def _conversation_of(key: Key) -> str:
    """Return the key of a record's conversation, which selects the partition of all its announcements.

    They are in one partition, and so in order, unless partitions are added to the topic.
    """
    return conversation_key(key.tenant, key.project, key.conversation_id)
