"""Conversations with reactions in a stretch of time, newest activity first, page by page."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import asyncpg

from contracts.instants import format_instant
from reporting.answers import Answer, Counts, FeedbackItem, Time, Window, feedback_item
from reporting.cursor import BadCursor, Cursor, encode
from reporting.database import Connection
from reporting.queries.counts import COUNTS, counts_of
from reporting.scope import Project, Span


class PeriodTurn(Answer):
    """`ts` is the time of the turn's newest reaction in the window."""

    turn_id: str
    ts: Time
    feedbacks: list[FeedbackItem]


class PeriodItem(Answer):
    """The window's first and last reaction, and how many of each kind. `turns` is empty unless asked for."""

    conversation_id: str
    last_activity_at: Time
    started_at: Time
    feedback_counts: Counts
    turns: list[PeriodTurn]


class ConversationsInPeriod(Answer):
    tenant: str
    project: str
    window: Window
    items: list[PeriodItem]
    next_cursor: str | None


# Walks the reactions newest first and stops at the limit: a page costs what it shows, not what the window holds. A
# row stands for its conversation where nothing later in the window does. After the first page, conversations that were
# written to since its snapshot are passed over: they may have moved either way, and would come twice.
_HEADS: Final = """
select e.conversation_id, e.occurred_at
from effective e
where e.tenant = $1 and e.project = $2 and e.occurred_at >= $3 and e.occurred_at < $4
  and ($5::bigint is null or e.occurred_at < $5 or (e.occurred_at = $5 and e.conversation_id > $6::text))
  and not exists (
    select from effective later
    where later.tenant = $1 and later.project = $2 and later.conversation_id = e.conversation_id
      and later.occurred_at < $4
      and (later.occurred_at, later.feedback_id) > (e.occurred_at, e.feedback_id)
  )
  and ($7::text is null or not exists (
    select from feedbacks moved
    where moved.tenant = $1 and moved.project = $2 and moved.conversation_id = e.conversation_id
      and not pg_visible_in_snapshot(moved.written_by, $7::text::pg_snapshot)
  ))
order by e.occurred_at desc, e.conversation_id
limit $8
"""
_COUNTS: Final = f"""
select e.conversation_id, min(e.occurred_at) as started_at, {COUNTS}
from effective e
where e.tenant = $1 and e.project = $2 and e.occurred_at >= $3 and e.occurred_at < $4
  and e.conversation_id = any($5::text[])
group by e.conversation_id
"""
_FEEDBACKS: Final = """
select conversation_id, turn_id, text, reaction, confidence, origin, rn, occurred_at
from effective
where tenant = $1 and project = $2 and occurred_at >= $3 and occurred_at < $4 and conversation_id = any($5::text[])
order by occurred_at, feedback_id
"""


async def conversations_in_period(
    pool: asyncpg.Pool, at: Project, span: Span, *, include_turns: bool, limit: int, cursor: Cursor | None
) -> ConversationsInPeriod:
    """One page. None comes twice; one that changed since the first page may be missed until asked again.

    Raises BadCursor where the database does not know the cursor's snapshot.
    """
    after = cursor or Cursor(0, "", "")
    position = (after.last_activity_at, after.conversation_id, after.snapshot) if cursor else (None, None, None)
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        snapshot = cursor.snapshot if cursor else await connection.fetchval("select pg_current_snapshot()::text")
        try:
            heads = await connection.fetch(_HEADS, *at, *span, *position, limit + 1)
        except asyncpg.DataError as error:
            raise BadCursor from error
        page = heads[:limit]
        ids = [row["conversation_id"] for row in page]
        counts = {row["conversation_id"]: row for row in await connection.fetch(_COUNTS, *at, *span, ids)}
        turns = await _turns(connection, at, span, ids) if include_turns else {}
    items = [
        PeriodItem(
            conversation_id=row["conversation_id"],
            last_activity_at=format_instant(row["occurred_at"]),
            started_at=format_instant(counts[row["conversation_id"]]["started_at"]),
            feedback_counts=Counts(**counts_of(counts[row["conversation_id"]])),
            turns=turns.get(row["conversation_id"], []),
        )
        for row in page
    ]
    more = len(heads) > limit
    last = page[-1] if more else None
    return ConversationsInPeriod(
        tenant=at.tenant,
        project=at.project,
        window=Window(start=format_instant(span.start), end=format_instant(span.end)),
        items=items,
        next_cursor=encode(Cursor(last["occurred_at"], last["conversation_id"], snapshot)) if last else None,
    )


async def _turns(connection: Connection, at: Project, span: Span, ids: list[str]) -> dict[str, list[PeriodTurn]]:
    found: dict[str, dict[str, list[FeedbackItem]]] = defaultdict(lambda: defaultdict(list))
    for row in await connection.fetch(_FEEDBACKS, *at, *span, ids):
        found[row["conversation_id"]][row["turn_id"]].append(feedback_item(row))
    return {
        conversation: [PeriodTurn(turn_id=turn, ts=items[-1].ts, feedbacks=items) for turn, items in turns.items()]
        for conversation, turns in found.items()
    }
