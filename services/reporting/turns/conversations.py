"""Query for the conversations with reactions in a time window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import asyncpg
from pydantic import ConfigDict, Field, model_validator

from contracts.instants import format_instant, parse_instant
from reporting.figures.counts import counts_of
from reporting.model.cursor import TIMED, BadCursor, decode, encode, question
from reporting.model.paging import ITEM_BYTES, page_of
from reporting.model.requests import Paged, SentMoment
from reporting.model.responses import Counts, FeedbackItem, ProjectReport, ResponseModel, Time, Window, feedback_item
from reporting.model.selection import Project, TimeSpan
from reporting.sql import SQL
from reporting.sql.connection import Connection
from reporting.turns.snapshots import Snapshot, snapshot_of, usable_watermark


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
        json_schema_extra={
            "examples": [
                {
                    "start": "2026-11-01T00:00:00Z",
                    "end": "2026-12-01T00:00:00Z",
                    "include_turns": True,
                    "limit": 50,
                    "cursor": None,
                }
            ]
        }
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
    query = question("period", *project, *body.span)
    after = None if body.cursor is None else decode(body.cursor, query, TIMED)
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        now = await snapshot_of(connection)
        first, seen = await _first_page(connection, now, after)
        scope = {**project._asdict(), **body.span._asdict()}
        moment, conversation = after[:2] if after else (None, None)
        position = {"after": moment, "after_id": conversation, "seen": seen, "limit": body.limit + 1}
        heads = await connection.fetch(*SQL.list_active_conversations(**scope, **position))
        ids = [row["conversation_id"] for row in heads]
        counts = _by_conversation(await connection.fetch(*SQL.count_reactions_of_conversations(**scope, ids=ids)))
        sizes = (counts[id_]["size"] if body.include_turns else 0 for id_ in ids)
        page, more = page_of(heads, sizes, body.limit)
        ids = ids[: len(page)]
        starts = _by_conversation(await connection.fetch(*SQL.starts_of_conversations(**project._asdict(), ids=ids)))
        turns = await _turns(connection, project, body.span, ids) if body.include_turns else {}
    last = page[-1] if more else None
    return ConversationsInPeriod(
        tenant=project.tenant,
        project=project.project,
        window=Window(start=body.start, end=body.end),
        items=[_item(row, starts, counts, turns, include_turns=body.include_turns) for row in page],
        next_cursor=encode(query, (last["occurred_at"], last["conversation_id"], str(first))) if last else None,
    )


def _by_conversation(rows: Sequence[asyncpg.Record]) -> dict[str, asyncpg.Record]:
    return {row["conversation_id"]: row for row in rows}


def _item(
    head: asyncpg.Record,
    starts: Mapping[str, asyncpg.Record],
    counts: Mapping[str, asyncpg.Record],
    turns: Mapping[str, list[PeriodTurn]],
    *,
    include_turns: bool,
) -> PeriodItem:
    name = head["conversation_id"]
    start = starts.get(name)
    return PeriodItem(
        conversation_id=name,
        last_activity_at=format_instant(head["occurred_at"]),
        started_at=_instant(None if start is None else start["occurred_at"]),
        feedback_counts=Counts(**counts_of(counts[name])),
        turns=turns.get(name, []),
        turns_cut=include_turns and counts[name]["size"] > ITEM_BYTES,
    )


async def _first_page(
    connection: Connection, now: Snapshot, after: tuple[int, str, str] | None
) -> tuple[Snapshot | str, str | None]:
    """Return the database snapshot of the query's first page.

    Returns:
        The snapshot to put into the next cursor, and the snapshot to pass to the SQL statement. The latter is None on
        the first page.

    Raises:
        BadCursor: If the snapshot in the cursor is from another database.
    """
    if after is None:
        return now, None
    seen = await usable_watermark(connection, after[2], now)
    if seen is None:
        raise BadCursor
    return after[2], seen


def _instant(moment: int | None) -> str | None:
    return None if moment is None else format_instant(moment)


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
