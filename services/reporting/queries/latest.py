"""What stands on the turns of a conversation now, and what one person holds on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from contracts.base import FeedbackType, Origin, Reaction
from contracts.instants import format_instant
from reporting.answers import Answer, Time
from reporting.database import Connection
from reporting.projection import person_slot
from reporting.scope import Conversation


class LatestItem(Answer):
    """`recorded_at` is when the turn's feedback last changed; a null reaction was taken back.

    `turn_ts` is null while no message of the turn is known.
    """

    turn_id: str
    turn_ts: Time | None
    feedback_id: UUID
    user_id: str
    ts: Time
    recorded_at: Time
    reaction: Reaction | None
    text: str | None
    confidence: float
    origin: Origin
    rn: str


class Latest(Answer):
    """One item a turn, oldest change first. The last one's `recorded_at` is the next question's `since`."""

    conversation_id: str
    items: list[LatestItem]


class OwnFeedback(Answer):
    """A person's effective reaction on a turn; everything from `reaction` on is null or empty where there is none."""

    conversation_id: str
    turn_id: str
    user_id: str
    reaction: Reaction | None = None
    feedback_type: FeedbackType | None = None
    text: str | None = None
    tags: tuple[str, ...] = ()
    correction: str | None = None
    emoji: str | None = None
    ts: Time | None = None


# Of each slot the newest record that can stand, an explicit null included; where none can, the newest cleared one. A
# slot changes with any of its records: taking an emoji away uncovers the one before.
_LATEST: Final = """
with changed as (
    select slot, turn_id, max(recorded_at) as recorded_at
    from feedbacks
    where tenant = $1 and project = $2 and conversation_id = $3 and ($4::text[] is null or turn_id = any($4::text[]))
    group by slot, turn_id
    having max(recorded_at) > $5
), standing as (
    select distinct on (f.slot) f.*, c.recorded_at as changed_at
    from changed c
    join feedbacks f on f.slot = c.slot and f.tenant = $1 and f.project = $2 and f.conversation_id = $3
    order by f.slot, (f.feedback_type = 'explicit' or f.reaction is not null) desc,
             f.occurred_at desc, f.feedback_id desc
), latest as (
    select distinct on (turn_id) *
    from standing
    order by turn_id, changed_at desc, occurred_at desc, feedback_id desc
)
select l.*, (
    select min(m.occurred_at) from messages m
    where m.tenant = $1 and m.project = $2 and m.conversation_id = $3 and m.turn_id = l.turn_id
) as turn_ts
from latest l
order by l.changed_at, l.turn_id
"""
_OWN: Final = "select * from effective where slot = $1 and tenant = $2 and project = $3 and conversation_id = $4"


async def latest(connection: Connection, at: Conversation, turn_ids: Sequence[str] | None, since: int) -> Latest:
    """The latest reaction of each turn whose feedback was recorded after `since` (microseconds)."""
    rows = await connection.fetch(_LATEST, *at, turn_ids, since)
    items = [
        LatestItem(
            turn_id=row["turn_id"],
            turn_ts=None if row["turn_ts"] is None else format_instant(row["turn_ts"]),
            feedback_id=row["feedback_id"],
            user_id=row["user_id"],
            ts=format_instant(row["occurred_at"]),
            recorded_at=format_instant(row["changed_at"]),
            reaction=row["reaction"],
            text=row["text"],
            confidence=row["confidence"],
            origin=row["origin"],
            rn=row["rn"],
        )
        for row in rows
    ]
    return Latest(conversation_id=at.conversation_id, items=items)


async def own_feedback(connection: Connection, at: Conversation, turn_id: str, user_id: str) -> OwnFeedback:
    """What `user_id` holds on a turn; the same answer for a turn that nobody knows."""
    row = await connection.fetchrow(_OWN, person_slot(*at, turn_id, user_id), *at)
    if row is None:
        return OwnFeedback(conversation_id=at.conversation_id, turn_id=turn_id, user_id=user_id)
    return OwnFeedback(
        conversation_id=at.conversation_id,
        turn_id=turn_id,
        user_id=user_id,
        reaction=row["reaction"],
        feedback_type=row["feedback_type"],
        text=row["text"],
        tags=row["tags"],
        correction=row["correction"],
        emoji=row["emoji"],
        ts=format_instant(row["occurred_at"]),
    )
