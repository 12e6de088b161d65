"""What is announced of a record. Pure: the same record always makes the same event, byte for byte."""

from __future__ import annotations

from typing import Literal

from contracts.feedback import FeedbackCreated
from contracts.ids import conversation_key, revision_event_id
from contracts.topics import FEEDBACK_CREATED
from feedback.model import Key, Record
from servicekit.producer import Message, fixed_partition
from servicekit.records import REVISION, Headers


def announcement(record: Record) -> FeedbackCreated:
    """The event that says what `record` is now; a stub has none, see `message_of`."""
    shown, key = record.shown, record.key
    said, live = shown.payload, shown.present
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
        turn_id=said.turn_id,
        agent_message_id=said.agent_message_id,
        agent_id=said.agent_id,
        user_id=key.user_id,
        user_type=said.user_type,
        origin=record.origin,
        feedback_type=record.feedback_type,
        source=key.source,
        source_id=key.source_id,
        reaction=said.reaction if live else None,
        value=said.value if live else None,
        confidence=said.confidence,
        text=said.text if live else None,
        tags=said.tags if live else (),
        correction=said.correction if live else None,
        emoji=said.emoji if live else None,
        correction_type=said.correction_type if live else None,
        rn=resource_name(record),
        **said.provenance.fields(),
        causation_id=said.causation_id,
    )


def resource_name(record: Record) -> str:
    """`ef:<tenant>:<project>:<user>:<conversation>:<turn>:artifact:<feedbackId>`."""
    key = record.key
    turn = record.shown.payload.turn_id
    return f"ef:{key.tenant}:{key.project}:{key.user_id}:{key.conversation_id}:{turn}:artifact:{record.feedback_id}"


def message_of(record: Record, headers: Headers = ()) -> Message:
    """The record of `feedback.created` that announces `record`: a stub's is a tombstone."""
    if record.forgotten:
        return tombstone_of(record.key, record.revision, headers)
    return _message(record.key, announcement(record).model_dump_json(by_alias=True).encode(), headers)


def tombstone_of(key: Key, revision: int, headers: Headers = ()) -> Message:
    """The record of `feedback.created` that says: of `key` nothing up to `revision` is left."""
    return _message(key, None, [*headers, (REVISION, str(revision).encode())])


def _message(key: Key, value: bytes | None, headers: Headers) -> Message:
    """Always on the partition that the topic table fixes, so that what is said of a feedback stands in one order."""
    partition = fixed_partition(FEEDBACK_CREATED.name, conversation_key(key.tenant, key.project, key.conversation_id))
    return Message(FEEDBACK_CREATED.name, str(key.feedback_id), value, headers, partition)
