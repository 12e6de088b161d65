"""Queries for the latest feedback on a conversation's turns, and for one person's feedback on a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple
from uuid import UUID

import asyncpg
from pydantic import Field, TypeAdapter

from contracts.base import FeedbackType, Origin, Reaction
from contracts.instants import format_instant
from reporting.answers import ResponseModel, Time
from reporting.cursor import TIMED, SnapshotText, decode, encode, question
from reporting.database import Connection
from reporting.paging import OVERHEAD, PAGE_BYTES, page_of
from reporting.projection import person_slot
from reporting.selection import ConversationKey
from reporting.snapshots import UNSEEN, Snapshot, snapshot_of, still_known


@dataclass(slots=True)
class LatestItem:
    """Latest feedback on a turn; a null `reaction` means a retraction.

    `recorded_at` is the time of the last change. `turn_ts` is null if no message of the turn is known.
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


class Latest(ResponseModel):
    """One item per turn, oldest change first, at most 2 MiB of text."""

    conversation_id: str
    items: list[LatestItem]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]
    watermark: Annotated[
        str | None,
        Field(
            description="Send it with the next query to get every change that these pages do not show. A change may be"
            " shown twice. Null except on the last page."
        ),
    ]


class LatestQuestion(NamedTuple):
    """Query for changed turns. `turn_ids` None means all turns; `since` is in microseconds."""

    turn_ids: Sequence[str] | None = None
    since: int | None = None
    watermark: str | None = None
    limit: int = 500
    cursor: str | None = None


_WATERMARK: Final = TypeAdapter(tuple[Annotated[str, Field(pattern=r"^(\*|[0-9a-f]{16})$")], SnapshotText])


class OwnFeedback(ResponseModel):
    """A person's effective reaction on a turn; without one, `reaction` and the fields after it are null or empty."""

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


# Select per slot the newest record that is explicit (even null) or has a reaction; if there is none, the newest cleared
# record. A change of any record changes its slot: removing an emoji makes the previous one effective again.
_HERE: Final = "f.tenant = $1 and f.project = $2 and f.conversation_id = $3"
_UNSEEN_SLOTS: Final = f"""
 and f.slot in (select f.slot from feedbacks f where {_HERE} and {UNSEEN.format(row="f", snapshot="$6")})"""
_TURNS: Final = """
with standing as (
    select distinct on (f.slot) f.turn_id, f.feedback_id, f.user_id, f.occurred_at, f.reaction, f.text, f.confidence,
           f.origin, f.rn, max(f.recorded_at) over (partition by f.slot) as changed_at
    from feedbacks f
    where {here} and ($4::text[] is null or f.turn_id = any($4::text[])){unseen}
    order by f.slot, (f.feedback_type = 'explicit' or f.reaction is not null) desc,
             f.occurred_at desc, f.feedback_id desc
), latest as (
    select distinct on (turn_id) *, coalesce(octet_length(text), 0) + {overhead} as size
    from standing
    where changed_at > $5
    order by turn_id, changed_at desc, occurred_at desc, feedback_id desc
), listed as (
    select *, sum(size) over (order by changed_at, turn_id) - size as size_before
    from latest
    where $7::bigint is null or (changed_at, turn_id) > ($7, $8::text)
    order by changed_at, turn_id
    limit $9
)
select turn_id, feedback_id, user_id, occurred_at, reaction, case when size_before < {page} then text end as text,
       confidence, origin, rn, changed_at, size, (
    select min(m.occurred_at) from messages m
    where m.tenant = $1 and m.project = $2 and m.conversation_id = $3 and m.turn_id = listed.turn_id
) as turn_ts
from listed
order by changed_at, turn_id
"""
_ALL: Final = _TURNS.format(here=_HERE, unseen=" and $6::text is null", overhead=OVERHEAD, page=PAGE_BYTES)
_UNSEEN: Final = _TURNS.format(here=_HERE, unseen=_UNSEEN_SLOTS, overhead=OVERHEAD, page=PAGE_BYTES)
_OWN: Final = "select * from effective where slot = $1 and tenant = $2 and project = $3 and conversation_id = $4"


async def latest(connection: Connection, at: ConversationKey, asked: LatestQuestion) -> Latest:
    """Return one page of changed turns.

    Needs no transaction: the watermark's snapshot is older than that of the rows, so a write between the two is shown
    twice. Raises BadCursor if the cursor belongs to another query, or the watermark to another conversation.
    """
    now = await snapshot_of(connection)
    turns = "*" if asked.turn_ids is None else question(sorted(asked.turn_ids))
    here = question("latest", *at)
    page_of_question = question("latest page", *at, turns, asked.since, asked.watermark)
    after = None if asked.cursor is None else decode(asked.cursor, page_of_question, TIMED)
    unseen = await _not_shown_before(connection, asked.watermark, here, turns, now)
    since = -1 if asked.since is None else asked.since
    position = (None, None) if after is None else after[:2]
    rows = await connection.fetch(
        _ALL if unseen is None else _UNSEEN, *at, asked.turn_ids, since, unseen, *position, asked.limit + 1
    )
    page, more = page_of(rows, (row["size"] for row in rows), asked.limit)
    first = str(now) if after is None else after[2]
    return Latest(
        conversation_id=at.conversation_id,
        items=[_item(row) for row in page],
        next_cursor=encode(page_of_question, (page[-1]["changed_at"], page[-1]["turn_id"], first)) if more else None,
        watermark=None if more else encode(here, (turns, first)),
    )


async def _not_shown_before(
    connection: Connection, watermark: str | None, here: str, turns: str, now: Snapshot
) -> str | None:
    """Return the snapshot in `watermark`; None if all turns must be shown.

    All turns must be shown if the watermark is of other turns, or of a database that was moved or restored since.
    """
    if watermark is None:
        return None
    of_turns, seen = decode(watermark, here, _WATERMARK)
    return await still_known(connection, seen, now) if of_turns in ("*", turns) else None


def _item(row: asyncpg.Record) -> LatestItem:
    return LatestItem(  # positional for speed, as in `answers`
        row["turn_id"],
        None if row["turn_ts"] is None else format_instant(row["turn_ts"]),
        row["feedback_id"],
        row["user_id"],
        format_instant(row["occurred_at"]),
        format_instant(row["changed_at"]),
        row["reaction"],
        row["text"],
        row["confidence"],
        row["origin"],
        row["rn"],
    )


async def own_feedback(connection: Connection, at: ConversationKey, turn_id: str, user_id: str) -> OwnFeedback:
    """Return the feedback of `user_id` on a turn; an unknown turn gives the same response as one without feedback."""
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
