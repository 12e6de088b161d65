"""What an event becomes in the read models, and what became of it. Pure.

Rows are tuples in the order of their table's columns, so that a batch turns into one array per column without a
detour through dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from contracts.chat import ChatMessageIngested
from contracts.feedback import FeedbackCreated
from contracts.ids import derived_id
from servicekit.outcome import STORED, UNCHANGED, Ignored, Outcome
from servicekit.records import REVISION, Tombstone, header

ENGAGEMENT = Ignored("engagement")
SUPERSEDED = Ignored("superseded")

MessageKey = tuple[str, str, str]
"""Tenant, project, message id."""


class FeedbackRow(NamedTuple):
    """A row of `feedbacks`; from `slot` on it is what readers are shown."""

    feedback_id: UUID
    revision: int
    recorded_at: int
    slot: UUID
    tenant: str
    project: str
    conversation_id: str
    turn_id: str
    user_id: str
    user_type: str
    agent_id: str
    agent_message_id: str | None
    origin: str
    feedback_type: str
    source: str
    reaction: str | None
    value: float | None
    confidence: float
    text: str | None
    tags: tuple[str, ...]
    correction: str | None
    emoji: str | None
    correction_type: str | None
    occurred_at: int
    rn: str
    track_id: str | None
    bundle_id: str | None
    agent_version: str | None
    model: str | None
    trace_id: str | None

    @property
    def shown(self) -> tuple[object, ...]:
        return self[3:]


class Forgotten(NamedTuple):
    """A feedback whose person was forgotten at `revision`."""

    feedback_id: UUID
    revision: int


def forgotten_of(tombstone: Tombstone) -> Forgotten | None:
    """Which feedback a tombstone ends; None where its key is no feedback's.

    One that names no revision ends what was announced before it, by the log's time.
    """
    try:
        feedback_id = UUID(tombstone.key)
    except ValueError:
        return None
    named = header(tombstone.raw.headers, REVISION) or ""
    return Forgotten(feedback_id, int(named) if named.isdecimal() else tombstone.raw.log_time // 1_000)


class MessageRow(NamedTuple):
    """A row of `messages`. `sequence` is -1 where the event has none."""

    tenant: str
    project: str
    message_id: str
    conversation_id: str
    turn_id: str | None
    sender_type: str
    sender_id: str
    user_type: str | None
    agent_id: str | None
    content: str
    occurred_at: int
    sequence: int
    intent: str | None
    strategy: str | None
    track_id: str | None
    bundle_id: str | None

    @property
    def key(self) -> MessageKey:
        return self[:3]

    @property
    def stamp(self) -> tuple[int, int]:
        return self.occurred_at, self.sequence


def feedback_row(event: FeedbackCreated) -> FeedbackRow | None:
    """The row of a feedback, or None for a reply: engagement is no verdict and is counted nowhere."""
    if event.feedback_type == "implicit":
        return None
    slot = event.feedback_id
    if event.origin == "user":
        slot = person_slot(event.tenant, event.project, event.conversation_id, event.turn_id, event.user_id)
    return FeedbackRow(
        event.feedback_id,
        event.revision,
        event.recorded_at,
        slot,
        event.tenant,
        event.project,
        event.conversation_id,
        event.turn_id,
        event.user_id,
        event.user_type,
        event.agent_id,
        event.agent_message_id,
        event.origin,
        event.feedback_type,
        event.source,
        event.reaction,
        event.value,
        event.confidence,
        event.text,
        event.tags,
        event.correction,
        event.emoji,
        event.correction_type,
        event.occurred_at,
        event.rn,
        event.track_id,
        event.bundle_id,
        event.agent_version,
        event.model,
        event.trace_id,
    )


def person_slot(tenant: str, project: str, conversation_id: str, turn_id: str, user_id: str) -> UUID:
    """What a person's reactions on a turn share: only the newest of them counts."""
    return derived_id(tenant, project, conversation_id, turn_id, user_id)


def message_row(event: ChatMessageIngested) -> MessageRow:
    """The row of a chat message. An agent's message without a turn is a turn of its own."""
    turn_id = event.turn_id
    if turn_id is None and event.sender_type == "agent":
        turn_id = event.message_id
    sequence = -1 if event.sequence is None else event.sequence
    return MessageRow(
        event.tenant,
        event.project,
        event.message_id,
        event.conversation_id,
        turn_id,
        event.sender_type,
        event.sender_id,
        event.user_type,
        event.agent_id,
        event.content,
        event.occurred_at,
        sequence,
        event.intent,
        event.strategy,
        event.track_id,
        event.bundle_id,
    )


def newest_feedbacks(rows: Iterable[FeedbackRow]) -> list[FeedbackRow]:
    """The highest revision of each feedback, in the order of their ids, so that writers never lock crosswise."""
    newest: dict[UUID, FeedbackRow] = {}
    for row in rows:
        held = newest.get(row.feedback_id)
        if held is None or row.revision > held.revision:
            newest[row.feedback_id] = row
    return sorted(newest.values())


def newest_messages(rows: Iterable[MessageRow]) -> list[MessageRow]:
    """One row per message: the first, unless another is later. In the order of their keys."""
    newest: dict[MessageKey, MessageRow] = {}
    for row in rows:
        held = newest.get(row.key)
        if held is None or row.stamp > held.stamp:
            newest[row.key] = row
    return [newest[key] for key in sorted(newest)]


def feedback_outcomes(rows: Sequence[FeedbackRow], before: Mapping[UUID, FeedbackRow]) -> list[Outcome]:
    """What became of each row, in arrival order, given what the store held `before` them."""
    held = dict(before)
    outcomes: list[Outcome] = []
    for row in rows:
        was = held.get(row.feedback_id)
        if was is not None and row.revision <= was.revision:
            outcomes.append(UNCHANGED if row.revision == was.revision else SUPERSEDED)
            continue
        held[row.feedback_id] = row
        outcomes.append(STORED if was is None or was.shown != row.shown else UNCHANGED)
    return outcomes


def message_outcomes(rows: Sequence[MessageRow], written: set[MessageKey]) -> list[Outcome]:
    """What became of each message, in arrival order; `written` names those that the store did not have like this."""
    taken: dict[MessageKey, tuple[int, int]] = {}
    outcomes: list[Outcome] = []
    for row in rows:
        stamp = taken.get(row.key)
        takes = row.key in written and (stamp is None or row.stamp > stamp)
        if takes:
            taken[row.key] = row.stamp
        outcomes.append(STORED if takes else UNCHANGED)
    return outcomes
