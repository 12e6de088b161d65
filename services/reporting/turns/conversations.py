"""Query for the conversations with reactions in a time window."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Self

import asyncpg
from pydantic import ConfigDict, Field, model_validator

from contracts.instants import format_instant, parse_instant
from reporting.figures.counts import counts_of
from reporting.model.cursor import TIMED, BadCursor, decode, encode, fingerprint
from reporting.model.paging import ITEM_BYTES, page_of
from reporting.model.requests import Paged, SentMoment
from reporting.model.responses import Counts, FeedbackItem, ProjectReport, ResponseModel, Time, Window, feedback_item
from reporting.model.selection import Project, TimeSpan
from reporting.sql import SQL
from reporting.sql.connection import Connection
from reporting.turns.snapshots import snapshot_of, usable_watermark


@dataclass(slots=True)
class PeriodTurn:
    """A turn with its reactions in the window."""

    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    ts: Annotated[Time, Field(description="Time of the newest reaction in the window.")]
    feedbacks: Annotated[list[FeedbackItem], Field(description="The effective reactions.")]


class PeriodItem(ResponseModel):
    """A conversation with reactions in the window. Counts and turns cover only the reactions in the window."""

    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    last_activity_at: Annotated[Time, Field(description="Time of the newest reaction in the window.")]
    started_at: Annotated[Time | None, Field(description="Time of the first message; null if no message is known.")]
    feedback_counts: Annotated[Counts, Field(description="Numbers of reactions in the window.")]
    turns: Annotated[
        list[PeriodTurn], Field(description="Turns with their reactions; empty unless `include_turns` is set.")
    ]
    turns_cut: Annotated[
        bool,
        Field(description="True if `turns` has only the newest reactions, because all reactions exceed 1 MiB."),
    ] = False


class ConversationsInPeriod(ProjectReport):
    window: Annotated[Window, Field(description="The requested window; both ends are inclusive.")]
    items: Annotated[
        list[PeriodItem], Field(description="Conversations, newest activity first, at most 2 MiB of text.")
    ]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]


class PeriodBody(Paged):
    """Query for reactions from `start` to `end`, both inclusive."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"start": "2026-11-01T00:00:00Z", "end": "2026-12-01T00:00:00Z"}]}
    )

    start: SentMoment = Field(description="Start of the period, inclusive.")
    end: SentMoment = Field(description="End of the period, inclusive.")
    include_turns: Annotated[bool, Field(strict=True, description="Also return the turns and their reactions.")] = False

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.span.start >= self.span.end:
            raise ValueError("start must not be after end")
        return self

    @property
    def span(self) -> TimeSpan:
        return TimeSpan(parse_instant(self.start), parse_instant(self.end) + 1)


async def conversations_in_period(pool: asyncpg.Pool, project: Project, body: PeriodBody) -> ConversationsInPeriod:
    """Return a page of the conversations with reactions in a period, most recently active first.

    No conversation is listed twice. If a conversation changes after the first page, it may be missing from later pages.
    A new query then lists it.

    Raises:
        BadCursor: If the cursor belongs to another time window, project or database.
    """
    query = fingerprint("period", *project, *body.span)
    after = None if body.cursor is None else decode(body.cursor, query, TIMED)
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        now = await snapshot_of(connection)
        seen = None if after is None else await usable_watermark(connection, after[2], now)
        if after is not None and seen is None:
            raise BadCursor
        scope = {**project._asdict(), **body.span._asdict()}
        moment, conversation = after[:2] if after else (None, None)
        position = {"after": moment, "after_id": conversation, "seen": seen, "limit": body.limit + 1}
        rows = await connection.fetch(*SQL.list_active_conversations(**scope, **position))
        page, more = page_of(rows, (row["size"] if body.include_turns else 0 for row in rows), body.limit)
        ids = [row["conversation_id"] for row in page] if body.include_turns else []
        turns = await _turns(connection, project, body.span, ids) if ids else {}
    last, first = page[-1] if more else None, after[2] if after else now
    return ConversationsInPeriod(
        tenant=project.tenant,
        project=project.project,
        window=Window(start=body.start, end=body.end),
        items=[_item(row, turns.get(row["conversation_id"])) for row in page],
        next_cursor=encode(query, (last["occurred_at"], last["conversation_id"], first)) if last else None,
    )


def _item(row: asyncpg.Record, turns: list[PeriodTurn] | None) -> PeriodItem:
    return PeriodItem(
        conversation_id=row["conversation_id"],
        last_activity_at=format_instant(row["occurred_at"]),
        started_at=None if row["started_at"] is None else format_instant(row["started_at"]),
        feedback_counts=Counts(**counts_of(row)),
        turns=turns or [],
        turns_cut=turns is not None and row["size"] > ITEM_BYTES,
    )


async def _turns(
    connection: Connection, project: Project, span: TimeSpan, ids: list[str]
) -> dict[str, list[PeriodTurn]]:
    by_turn: dict[str, dict[str, list[FeedbackItem]]] = defaultdict(lambda: defaultdict(list))
    statement = SQL.reactions_of_conversations(**project._asdict(), **span._asdict(), ids=ids)
    for row in await connection.fetch(*statement):
        by_turn[row["conversation_id"]][row["turn_id"]].append(feedback_item(row))
    return {
        conversation: [PeriodTurn(turn, items[-1].ts, items) for turn, items in turns.items()]
        for conversation, turns in by_turn.items()
    }
