"""Queries for the latest feedback on the turns of a conversation, and for one person's feedback on a turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Self
from uuid import UUID

import asyncpg
from pydantic import ConfigDict, Field, TypeAdapter, model_validator

from contracts.base import FeedbackType, Origin, Reaction
from contracts.fields import BestRating, Rating, WorstRating
from contracts.instants import format_instant
from reporting.model.cursor import CURSOR_LIMIT, TIMED, SnapshotText, decode, encode, fingerprint
from reporting.model.paging import page_of
from reporting.model.projection import person_slot
from reporting.model.requests import Limit, Moment, Paged, TurnIds
from reporting.model.responses import ResponseModel, Time
from reporting.model.selection import ConversationScope
from reporting.sql import SQL
from reporting.sql.connection import Connection
from reporting.turns.snapshots import snapshot_of, usable_watermark


@dataclass(slots=True)
class LatestItem:
    """The latest effective reaction to a turn. A null `reaction` means that all feedback on the turn was retracted.

    `recorded_at` is the time of the last change of any feedback on the turn. `turn_ts` is null if no message of the
    turn is known.
    """

    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    turn_ts: Annotated[Time | None, Field(description="Time of the turn's last message.")]
    feedback_id: Annotated[UUID, Field(description="Id of the feedback record; it is derived from the recorded facts.")]
    user_id: Annotated[str, Field(description="The person.")]
    ts: Annotated[Time, Field(description="Time of the feedback, RFC 3339.")]
    recorded_at: Annotated[Time, Field(description="Time of the last change of any feedback on the turn.")]
    reaction: Annotated[
        Reaction | None, Field(description="The latest verdict that counts; null if all feedback was retracted.")
    ]
    text: Annotated[str | None, Field(description="The person's text.")]
    confidence: Annotated[float, Field(description="Confidence that the person meant this verdict, 0 to 1.")]
    origin: Annotated[
        Origin, Field(description="`user` (a person), `machine` (inferred from a message) or `reviewer`.")
    ]
    rn: Annotated[str, Field(description="The feedback's resource name.")]


class Latest(ResponseModel):
    """The latest feedback on each changed turn, oldest change first. A page has at most 2 MiB of text."""

    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    items: Annotated[list[LatestItem], Field(description="Turns with their latest feedback.")]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]
    watermark: Annotated[
        str | None,
        Field(
            description="Send it with the next query to get all changes that these pages do not contain. A change may "
            "occur twice. Null except on the last page."
        ),
    ]


class LatestBody(Paged):
    """Query for changes. Omit `since` and `watermark` in the first query.

    In later queries, send the `watermark` from the last response.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"turn_ids": ["t-7"], "since": "2026-11-20T09:00:00Z"}]})

    turn_ids: TurnIds | None = Field(default=None, description="Ids of the turns; null for all turns.")
    since: Moment | None = Field(
        default=None,
        description="Only changes recorded after this time. Some changes may be missed, because a record with an"
        " earlier time may become visible later. Use `watermark` to get all changes.",
    )
    watermark: Annotated[str, Field(min_length=1, max_length=CURSOR_LIMIT)] | None = Field(
        default=None, description="The `watermark` of an earlier response: only changes that were not visible then."
    )
    limit: Limit = 500

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.since is not None and self.watermark is not None:
            raise ValueError("give since or watermark, not both")
        return self


_WATERMARK: Final = TypeAdapter(tuple[Annotated[str, Field(pattern=r"^(\*|[0-9a-f]{16})$")], SnapshotText])


class OwnFeedback(ResponseModel):
    """A person's effective reaction to a turn.

    If there is no reaction, the fields from `reaction` to `best_rating` are null or empty.
    """

    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    user_id: Annotated[str, Field(description="The person.")]
    reaction: Annotated[Reaction | None, Field(description="The verdict; null without a reaction.")] = None
    feedback_type: Annotated[FeedbackType | None, Field(description="`reaction` or `explicit`.")] = None
    text: Annotated[str | None, Field(description="The person's text.")] = None
    tags: Annotated[tuple[str, ...], Field(description="Reasons that the person chose.")] = ()
    correction: Annotated[str | None, Field(description="The correct answer, in the person's words.")] = None
    emoji: Annotated[str | None, Field(description="The emoji, if the feedback is one.")] = None
    ts: Annotated[Time | None, Field(description="Time of the feedback, RFC 3339.")] = None
    rn: Annotated[str | None, Field(description="The feedback's resource name; null without a reaction.")] = None
    rating: Rating = None
    worst_rating: WorstRating = None
    best_rating: BestRating = None


async def latest(connection: Connection, scope: ConversationScope, body: LatestBody) -> Latest:
    """Return a page of changed turns with their latest feedback.

    No transaction is needed, because the snapshot for the watermark is taken before the rows are read. A row that is
    written between these two steps may be returned both now and by the next query.

    Raises:
        BadCursor: If the cursor belongs to another query, or the watermark belongs to another conversation.
    """
    now = await snapshot_of(connection)
    turns = "*" if body.turn_ids is None else fingerprint(sorted(body.turn_ids))
    query = fingerprint("latest", *scope)
    page_fingerprint = fingerprint("latest page", *scope, turns, body.since, body.watermark)
    after = None if body.cursor is None else decode(body.cursor, page_fingerprint, TIMED)
    unseen = await _not_shown_before(connection, body.watermark, query, turns, now)
    moment, turn = (None, None) if after is None else after[:2]
    position = {"after": moment, "after_turn": turn, "limit": body.limit + 1}
    since = -1 if body.since is None else body.since
    wanted = {**scope._asdict(), "turn_ids": body.turn_ids, "since": since, **position}
    statement = SQL.latest_of_turns(**wanted)
    if unseen is not None:
        statement = SQL.latest_of_changed_turns(**wanted, seen=unseen)
    rows = await connection.fetch(*statement)
    page, more = page_of(rows, (row["size"] for row in rows), body.limit)
    first = now if after is None else after[2]
    return Latest(
        conversation_id=scope.conversation_id,
        items=[_item(row) for row in page],
        next_cursor=encode(page_fingerprint, (page[-1]["changed_at"], page[-1]["turn_id"], first)) if more else None,
        watermark=None if more else encode(query, (turns, first)),
    )


async def _not_shown_before(
    connection: Connection, watermark: str | None, query: str, turns: str, now: str
) -> str | None:
    """Return the PostgreSQL snapshot in the watermark, or None if all turns must be returned.

    All turns must be returned if there is no watermark, if it was issued for other turns, or if the database has been
    moved or restored.
    """
    if watermark is None:
        return None
    of_turns, seen = decode(watermark, query, _WATERMARK)
    return await usable_watermark(connection, seen, now) if of_turns in ("*", turns) else None


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


async def own_feedback(connection: Connection, scope: ConversationScope, turn_id: str, user_id: str) -> OwnFeedback:
    """Return a person's feedback on a turn.

    The result is the same for an unknown turn and for a turn without feedback.
    """
    slot = person_slot(*scope, turn_id, user_id)
    row = await connection.fetchrow(*SQL.own_feedback(slot=slot, **scope._asdict()))
    of_turn: dict[str, Any] = {"conversation_id": scope.conversation_id, "turn_id": turn_id, "user_id": user_id}
    if row is None:
        return OwnFeedback(**of_turn)
    columns = {name: row[name] for name in OwnFeedback.model_fields if name not in {*of_turn, "ts"}}
    return OwnFeedback(**of_turn, **columns, ts=format_instant(row["occurred_at"]))
