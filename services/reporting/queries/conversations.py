"""Query for the conversations with reactions in a time window, newest activity first, in pages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Final

import asyncpg
from pydantic import Field

from contracts.instants import format_instant
from reporting.answers import Counts, FeedbackItem, ResponseModel, Time, Window, feedback_item
from reporting.cursor import TIMED, BadCursor, decode, encode, question
from reporting.database import Connection
from reporting.paging import ITEM_BYTES, OVERHEAD, page_of
from reporting.queries.counts import COUNTS, counts_of
from reporting.selection import Project, TimeSpan
from reporting.snapshots import UNSEEN, Snapshot, snapshot_of, still_known


@dataclass(slots=True)
class PeriodTurn:
    """Turn with its reactions in the window; `ts` is the time of the newest one."""

    turn_id: str
    ts: Time
    feedbacks: list[FeedbackItem]


class PeriodItem(ResponseModel):
    """Conversation with a reaction in the window. Counts and turns cover only the window's reactions."""

    conversation_id: str
    last_activity_at: Annotated[Time, Field(description="Time of the newest reaction in the window.")]
    started_at: Annotated[Time | None, Field(description="Time of the first message; null if no message is known.")]
    feedback_counts: Counts
    turns: Annotated[
        list[PeriodTurn], Field(description="Turns with their reactions; empty unless `include_turns` is set.")
    ]
    turns_cut: Annotated[
        bool, Field(description="True if `turns` has only the newest reactions, because all exceed 1 MiB.")
    ] = False


class ConversationsInPeriod(ResponseModel):
    tenant: str
    project: str
    window: Annotated[Window, Field(description="The requested window; both ends are inclusive.")]
    items: Annotated[list[PeriodItem], Field(description="Newest activity first, at most 2 MiB of text.")]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]


# Walk the reactions newest first, from each conversation's newest to the next conversation's, and stop at the limit, so
# that a page costs what it shows and not what the window or the earlier pages contain. On later pages, a reaction
# represents its conversation only if the window has no later reaction of it. Conversations written to since the first
# page's snapshot are skipped, because they may have moved in the order and would be listed twice.
_HEADS: Final = f"""
with recursive heads as (
    select $6::text as conversation_id, coalesce($5::bigint, $4::bigint - 1) as occurred_at, array[]::text[] as shown
    union all
    select e.conversation_id, e.occurred_at, h.shown || e.conversation_id
    from heads h
    cross join lateral (
        select e.conversation_id, e.occurred_at
        from effective e
        where e.tenant = $1 and e.project = $2 and e.occurred_at >= $3 and e.occurred_at <= h.occurred_at
          and (h.conversation_id is null or e.occurred_at < h.occurred_at or e.conversation_id > h.conversation_id)
          and e.conversation_id <> all(h.shown)
          and ($5::bigint is null or not exists (
            select from effective later
            where later.tenant = $1 and later.project = $2 and later.conversation_id = e.conversation_id
              and later.occurred_at < $4
              and (later.occurred_at, later.feedback_id) > (e.occurred_at, e.feedback_id)
          ))
          and ($7::text is null or not exists (
            select from feedbacks moved
            where moved.tenant = $1 and moved.project = $2 and moved.conversation_id = e.conversation_id
              and {UNSEEN.format(row="moved", snapshot="$7")}
          ))
        order by e.occurred_at desc, e.conversation_id
        limit 1
    ) e
    where cardinality(h.shown) < $8::int
)
select conversation_id, occurred_at from heads where shown <> '{{}}' order by cardinality(shown)
"""
_COUNTS: Final = f"""
select e.conversation_id, sum(coalesce(octet_length(e.text), 0) + {OVERHEAD}) as size, {COUNTS}
from effective e
where e.tenant = $1 and e.project = $2 and e.occurred_at >= $3 and e.occurred_at < $4
  and e.conversation_id = any($5::text[])
group by e.conversation_id
"""
_STARTS: Final = """
select c.conversation_id, m.occurred_at
from unnest($3::text[]) as c (conversation_id)
cross join lateral (
    select occurred_at from messages
    where conversation_id = c.conversation_id and tenant = $1 and project = $2
    order by occurred_at, sequence limit 1
) m
"""
_FEEDBACKS: Final = f"""
select * from (
    select conversation_id, turn_id, text, reaction, confidence, origin, rn, occurred_at, feedback_id,
           sum(coalesce(octet_length(text), 0) + {OVERHEAD})
               over (partition by conversation_id order by occurred_at desc, feedback_id desc) as used
    from effective
    where tenant = $1 and project = $2 and occurred_at >= $3 and occurred_at < $4 and conversation_id = any($5::text[])
) f
where used <= {ITEM_BYTES}
order by occurred_at, feedback_id
"""


async def conversations_in_period(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, *, include_turns: bool, limit: int, cursor: str | None
) -> ConversationsInPeriod:
    """Return one page of conversations.

    No conversation is listed twice. A conversation that changes after the first page was read may be missing from the
    later pages; a repeated query lists it. Raises BadCursor if the cursor is of another window, project or database.
    """
    asked = question("period", *at, *span)
    after = None if cursor is None else decode(cursor, asked, TIMED)
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        now = await snapshot_of(connection)
        first, seen = await _first_page(connection, now, after)
        position = after[:2] if after else (None, None)
        heads = await connection.fetch(_HEADS, *at, *span, *position, seen, limit + 1)
        ids = [row["conversation_id"] for row in heads]
        counts = {row["conversation_id"]: row for row in await connection.fetch(_COUNTS, *at, *span, ids)}
        sizes = (counts[one]["size"] if include_turns else 0 for one in ids)
        page, more = page_of(heads, sizes, limit)
        ids = ids[: len(page)]
        starts = {row["conversation_id"]: row["occurred_at"] for row in await connection.fetch(_STARTS, *at, ids)}
        turns = await _turns(connection, at, span, ids) if include_turns else {}
    items = [
        PeriodItem(
            conversation_id=row["conversation_id"],
            last_activity_at=format_instant(row["occurred_at"]),
            started_at=_instant(starts.get(row["conversation_id"])),
            feedback_counts=Counts(**counts_of(counts[row["conversation_id"]])),
            turns=turns.get(row["conversation_id"], []),
            turns_cut=include_turns and counts[row["conversation_id"]]["size"] > ITEM_BYTES,
        )
        for row in page
    ]
    last = page[-1] if more else None
    return ConversationsInPeriod(
        tenant=at.tenant,
        project=at.project,
        window=Window(start=format_instant(span.start), end=format_instant(span.end - 1)),
        items=items,
        next_cursor=encode(asked, (last["occurred_at"], last["conversation_id"], str(first))) if last else None,
    )


async def _first_page(
    connection: Connection, now: Snapshot, after: tuple[int, str, str] | None
) -> tuple[Snapshot | str, str | None]:
    """Return the first page's snapshot for the next cursor, and for PostgreSQL (None on the first page)."""
    if after is None:
        return now, None
    seen = await still_known(connection, after[2], now)
    if seen is None:
        raise BadCursor
    return after[2], seen


def _instant(moment: int | None) -> str | None:
    return None if moment is None else format_instant(moment)


async def _turns(connection: Connection, at: Project, span: TimeSpan, ids: list[str]) -> dict[str, list[PeriodTurn]]:
    found: dict[str, dict[str, list[FeedbackItem]]] = defaultdict(lambda: defaultdict(list))
    for row in await connection.fetch(_FEEDBACKS, *at, *span, ids):
        found[row["conversation_id"]][row["turn_id"]].append(feedback_item(row))
    return {
        conversation: [PeriodTurn(turn, items[-1].ts, items) for turn, items in turns.items()]
        for conversation, turns in found.items()
    }
