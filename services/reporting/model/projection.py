"""Conversion of events to rows of the read models, with the outcome of each event. No I/O.

Rows are tuples in the order of the table's columns, so that a batch converts quickly to one array per column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple
from uuid import UUID

from contracts.base import NO_VERDICTS
from contracts.exchange import has_text
from contracts.feedback import FeedbackCreated, FeedbackSessionCreated
from contracts.ids import derived_id
from contracts.sources import REVIEW
from contracts.versions import UNLOGGED, LogPosition, MessageEvent, message_in, place_of, same_source, version_of
from servicekit.log.outcome import Outcome

SUPERSEDED = Outcome.ignored("superseded")

MessageKey = tuple[str, str, str, str]
"""Tenant, project, conversation id, message id."""


class FeedbackRow(NamedTuple):
    """Row of the table `feedbacks`: a verdict, or a reply.

    Each field is a column of the table, and readers see the columns from `slot` on. Apart from `slot`, the fields have
    the same names as in the event `feedback.created`.

    Only the newest live record in a slot counts. All reactions of a person to a turn share a slot. All reviews of a
    turn have different slots, but still only the newest live review counts, whoever wrote it.

    If a verdict is overruled, `reaction` is null, as in any cleared record. The machine's reaction is then in
    `overruled_reaction`.

    The store replaces the last fields, COPIED, when it knows the answer.
    """

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
    intent: str | None
    reviews: str | None
    overruled_by: UUID | None
    overruled_reaction: str | None
    detector: str | None
    decided_by: str | None
    rating: int | None = None
    worst_rating: int | None = None
    best_rating: int | None = None
    question_message_id: str | None = None
    thread_id: str | None = None
    strategy: str | None = None
    attributes: dict[str, str] | None = None
    answer_id: str | None = None


COPIED: Final = FeedbackRow._fields[-5:]
"""Columns that the store copies from the answer and its question (`sql/exchanges.sql`)."""
_SLOT: Final = FeedbackRow._fields.index("slot")
_VALUES: Final = attrgetter(*(name for name in FeedbackRow._fields if name not in ("slot", "answer_id")))


class MessageRow(NamedTuple):
    """Row of the table `messages`.

    A row has the content of the message's highest version, and the position of its earliest version.

    Attributes:
        attributes: JSON object with string values.
        has_text: False if the message is empty or deleted.
        text_since: Time since which the message has had its current text.
        other_text_at: Time of the latest version from the same kind of event whose text differs from the current one.
        sequence: Sequence number of the event, or -1 if it has none.
        log_time: Time at which the earliest version first appeared in the log.
        log_offset: Offset of the earliest version's record.
    """

    tenant: str
    project: str
    conversation_id: str
    message_id: str
    turn_id: str | None
    sender_id: str
    sender_type: str
    agent_id: str | None
    content: str
    user_type: str | None
    intent: str | None
    strategy: str | None
    track_id: str | None
    bundle_id: str | None
    agent_version: str | None
    model: str | None
    trace_id: str | None
    reply_to: str | None
    thread: str
    attributes: str | None
    has_text: bool
    version: bytes
    text_since: int
    other_text_at: int | None
    occurred_at: int
    sequence: int
    log_time: int
    log_offset: int

    @property
    def key(self) -> MessageKey:
        return self[:4]

    @property
    def position(self) -> tuple[int, ...]:
        return self[-4:]

    def merged(self, other: MessageRow) -> MessageRow:
        """Merge two versions of a message into one row.

        The result does not depend on their order.
        """
        position = min(self.position, other.position)
        later, earlier = (other, self) if other.version > self.version else (self, other)
        changed = [later.other_text_at]
        since = [later.text_since]
        # A reply event has fewer fields than a message event, and its text says nothing about a message event's text.
        if same_source(later.version, earlier.version):
            if later.content == earlier.content:
                changed.append(earlier.other_text_at)
                since.append(earlier.text_since)
            else:
                changed.append(_time_of(earlier.version))
        other_text_at = max((time for time in changed if time is not None), default=None)
        until = -1 if other_text_at is None else other_text_at
        # If no time is left, an earlier version that repeats the text may have been forgotten.
        text_since = min((time for time in since if time > until), default=_time_of(later.version))
        row = later._replace(text_since=text_since, other_text_at=other_text_at)
        return MessageRow._make((*row[: -len(position)], *position))


class SessionRow(NamedTuple):
    """Row of the table `sessions`, which contains anonymous session ratings.

    `recorded_at` is in microseconds.
    """

    tenant: str
    id: UUID
    recorded_at: int
    label: str
    turns: int


def session_row(event: FeedbackSessionCreated) -> SessionRow:
    """Return the row of a session rating."""
    return SessionRow(event.tenant, event.id, event.recorded_at, event.label, event.turn_count_at_end)


def feedback_row(event: FeedbackCreated, attributes: frozenset[str] = frozenset()) -> FeedbackRow:
    """Return the row of a feedback record.

    Args:
        attributes: Names of the answer's attributes to keep.
    """
    slot = event.feedback_id
    if event.origin == "user" and event.source != REVIEW and event.feedback_type not in NO_VERDICTS:
        slot = person_slot(event.tenant, event.project, event.conversation_id, event.turn_id, event.user_id)
    announced = _VALUES(event)
    row = FeedbackRow._make((*announced[:_SLOT], slot, *announced[_SLOT:], event.agent_message_id))
    row = row._replace(attributes=_attributes(event.attributes, attributes))
    # The log may contain reviews that were announced with the origin `user`.
    return row._replace(origin="reviewer") if event.source == REVIEW else row


def person_slot(tenant: str, project: str, conversation_id: str, turn_id: str, user_id: str) -> UUID:
    """Return the slot that all reactions of a person to a turn share.

    Only the newest reaction in a slot counts.
    """
    return derived_id(tenant, project, conversation_id, turn_id, user_id)


def message_row(
    event: MessageEvent, attributes: frozenset[str] = frozenset(), logged: LogPosition = UNLOGGED
) -> MessageRow:
    """Return the row for the message in an event.

    If an agent's message has no turn id, its message id is used instead.

    Args:
        attributes: Names of the answer attributes to keep.
    """
    message = message_in(event)
    turn_id = message.turn_id
    if turn_id is None and message.sender_type == "agent":
        turn_id = message.message_id
    occurred_at, sequence = place_of(event)
    from_agent = message.sender_type == "agent"
    return MessageRow(
        message.tenant,
        message.project,
        message.conversation_id,
        message.message_id,
        turn_id,
        message.sender_id,
        message.sender_type,
        message.agent_id,
        message.content,
        message.user_type,
        message.intent,
        message.strategy,
        message.track_id,
        message.bundle_id,
        message.agent_version,
        message.model,
        message.trace_id,
        message.reply_to_message_id,
        "" if message.thread_id in (None, message.message_id) else message.thread_id or "",
        _as_json(_attributes(message.attributes, attributes)) if from_agent else None,
        has_text(message.content),
        version_of(event, logged),
        occurred_at,
        None,
        occurred_at,
        sequence,
        logged.log_time,
        logged.offset,
    )


def _time_of(version: bytes) -> int:
    return int.from_bytes(version[1:9])


def _attributes(attributes: Mapping[str, str] | None, names: frozenset[str]) -> dict[str, str] | None:
    """Return those attributes of an answer that are in `names`, or None if there are none."""
    return {name: value for name, value in sorted((attributes or {}).items()) if name in names and value} or None


def _as_json(attributes: Mapping[str, str] | None) -> str | None:
    return None if attributes is None else json.dumps(attributes)


def newest_feedbacks(rows: Iterable[FeedbackRow]) -> list[FeedbackRow]:
    """Return the highest revision of each feedback record.

    The rows are sorted by id to avoid deadlocks.
    """
    newest: dict[UUID, FeedbackRow] = {}
    for row in rows:
        current = newest.get(row.feedback_id)
        if current is None or row.revision > current.revision:
            newest[row.feedback_id] = row
    return sorted(newest.values(), key=lambda row: row.feedback_id.int)


def merged_messages(rows: Iterable[MessageRow]) -> list[MessageRow]:
    """Merge the rows of each message into one, and sort the rows by key."""
    merged: dict[MessageKey, MessageRow] = {}
    for row in rows:
        current = merged.get(row.key)
        merged[row.key] = row if current is None else current.merged(row)
    return [merged[key] for key in sorted(merged)]


def feedback_outcomes(rows: Sequence[FeedbackRow], before: Mapping[UUID, int]) -> list[Outcome]:
    """Return the outcome of each row, in arrival order.

    Args:
        before: The revisions that were stored before the batch, by feedback id.
    """
    current = dict(before)
    outcomes: list[Outcome] = []
    for row in rows:
        revision = current.get(row.feedback_id, -1)
        current[row.feedback_id] = max(revision, row.revision)
        is_repeated = row.revision == revision
        outcomes.append(Outcome.STORED if row.revision > revision else Outcome.UNCHANGED if is_repeated else SUPERSEDED)
    return outcomes


def message_outcomes(rows: Sequence[MessageRow], written: set[MessageKey]) -> list[Outcome]:
    """Return the outcome of each message, in arrival order.

    Args:
        written: Keys of the messages that were added or changed.
    """
    merged: dict[MessageKey, MessageRow] = {}
    outcomes: list[Outcome] = []
    for row in rows:
        current = merged.get(row.key)
        after = row if current is None else current.merged(row)
        takes = row.key in written and after != current
        if takes:
            merged[row.key] = after
        outcomes.append(Outcome.STORED if takes else Outcome.UNCHANGED)
    return outcomes
