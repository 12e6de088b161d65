"""Search for feedback records, shared by the list page, the exports and the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Final
from uuid import UUID

import asyncpg
from pydantic import Field, TypeAdapter

from contracts.base import CorrectionType, DecidedBy, FeedbackType, Origin, Reaction
from contracts.instants import format_instant
from reporting.answers import ResponseModel, Time
from reporting.cursor import Moment, decode, encode, question
from reporting.paging import OVERHEAD, page_of
from reporting.selection import Filters, Project, TimeSpan, substring, where
from reporting.store_postgres import IS_LIVE, FeedbackTable


class FoundFeedback(ResponseModel):
    """Effective feedback record, or a reply to an answer."""

    feedback_id: Annotated[UUID, Field(description="Id of the record; it never changes.")]
    conversation_id: Annotated[str, Field(description="The conversation.")]
    turn_id: Annotated[str, Field(description="The turn that the feedback is about.")]
    agent_id: Annotated[str, Field(description="The agent that answered in that turn.")]
    agent_version: Annotated[str | None, Field(description="The agent's version; null if unknown.")]
    model: Annotated[str | None, Field(description="The agent's language model; null if unknown.")]
    user_id: Annotated[str, Field(description="The person who gave the verdict, or whose message the machine judged.")]
    user_type: Annotated[str, Field(description="The platform's word for that person's role; `agent`: an AI critic.")]
    origin: Annotated[
        Origin,
        Field(description="`user`: a person's verdict. `machine`: inferred from a message. `reviewer`: a review."),
    ]
    feedback_type: Annotated[
        FeedbackType,
        Field(
            description="`reaction`: an emoji. `explicit`: a judgement. `inferred`: a machine verdict. `implicit`: a"
            " reply, which is not a verdict and counts in no share."
        ),
    ]
    reaction: Annotated[Reaction | None, Field(description="The verdict; null for a reply.")]
    value: Annotated[float | None, Field(description="The reward, -1 to 1.")]
    confidence: Annotated[float, Field(description="0 to 1; 1 for a person's own verdict.")]
    text: Annotated[
        str | None, Field(description="The person's comment or reply, or the message that the machine judged.")
    ]
    tags: Annotated[list[str], Field(description="Reasons for the verdict.")]
    correction: Annotated[str | None, Field(description="The answer that the person wanted instead.")]
    correction_type: Annotated[
        CorrectionType | None, Field(description="The kind of rejection that the machine inferred.")
    ]
    emoji: Annotated[str | None, Field(description="The emoji of a reaction.")]
    reviews: Annotated[
        str | None, Field(description="For a review: the reviewed machine verdict or turn; otherwise null.")
    ]
    detector: Annotated[str | None, Field(description="For a machine verdict: the detector's version.")]
    decided_by: Annotated[
        DecidedBy | None, Field(description="For a machine verdict: the part of the detector that decided.")
    ]
    ts: Annotated[Time, Field(description="Time of the verdict.")]


class FoundFeedbacks(ResponseModel):
    """One page of feedback records, newest first, at most 2 MiB of text.

    With the filter `text`, a page scans at most 10,000 records: it may be empty and still have a `next_cursor`.
    """

    items: Annotated[list[FoundFeedback], Field(description="Feedback records, newest first.")]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]


_POSITION: Final = TypeAdapter(tuple[Moment, UUID])
LOOKED_THROUGH: Final = 10_000
"""Maximum number of records that one page scans for a text, which has no index. The cursor continues after the scan."""
_COLUMNS: Final = """e.feedback_id, e.conversation_id, e.turn_id, e.agent_id, e.agent_version, e.model, e.user_id,
 e.origin, e.feedback_type, e.reaction, e.value, e.confidence, e.text, e.tags, e.correction, e.correction_type, e.emoji,
 e.occurred_at, e.agent_message_id, e.trace_id, e.source, e.reviews, e.overruled_by, e.detector, e.decided_by,
 e.user_type"""
_PART: Final = f"(select {_COLUMNS} from {{view}} e where {{condition}} order by {{order}} limit {{limit}})"
# Only records that contain the text are checked for being effective. The last row, `ended_here`, marks the end of a
# scan that reached its limit.
_LOOK: Final = """
with looked as materialized (
    {looked}
), hits as materialized (
    select e.feedback_id, e.occurred_at, false as ended_here
    from looked e
    where e.holds and (e.is_reply or exists (
        select from {view} counted
        where counted.feedback_id = e.feedback_id and counted.tenant = $1 and counted.project = $2
    ))
    order by {order}
    limit {limit}
), listed as (
    select * from hits
    union all (
        select e.feedback_id, e.occurred_at, true
        from looked e
        where (select count(*) from hits) < {limit}
        order by {order}
        limit 1 offset {last}
    )
)
{rows}
order by ended_here, {order}
"""
_LOOKED: Final = """(
    select e.feedback_id, e.occurred_at, e.text ilike ${pattern} or e.correction ilike ${pattern} as holds,
           {is_reply} as is_reply
    from {table} e
    where {condition} and e.{is_live}
    order by {order}
    limit {last}
)"""
_ROWS: Final = f"""
select {_COLUMNS}, listed.ended_here
from listed join {{table}} e using (feedback_id)
where e.tenant = $1 and e.project = $2
"""
_NOTHING: Final = "select $1::text, $2::text where false"
_OLDER: Final = " and e.occurred_at <= ${at} and (e.occurred_at, e.feedback_id) < (${at}, ${next})"
_NEWER: Final = " and e.occurred_at >= ${at} and (e.occurred_at, e.feedback_id) > (${at}, ${next})"
_ANSWERS: Final = """
select f.feedback_id, left(coalesce(
    (select m.content from messages m
     where m.tenant = $1 and m.project = $2 and m.conversation_id = f.conversation_id
       and m.message_id = f.agent_message_id),
    (select m.content from messages m
     where m.tenant = $1 and m.project = $2 and m.conversation_id = f.conversation_id and m.turn_id = f.turn_id
       and m.sender_type = 'agent'
     order by m.occurred_at desc, m.sequence desc limit 1)
), 280) as answer
from (select feedback_id, tenant, project, conversation_id, turn_id, agent_message_id from feedbacks
      union all
      select feedback_id, tenant, project, conversation_id, turn_id, agent_message_id from replies) f
where f.tenant = $1 and f.project = $2 and f.feedback_id = any($3::uuid[])
"""
Place = tuple[int, UUID]
"""Position of a feedback record in the list: its time in microseconds, and its id."""


async def search(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, limit: int, cursor: str | None
) -> FoundFeedbacks:
    """Return one page of matching records. Raises BadCursor if the cursor belongs to another query."""
    rows, next_cursor = await found(pool, at, span, filters, limit, cursor)
    return FoundFeedbacks(items=[as_answer(row) for row in rows], next_cursor=next_cursor)


async def found(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, limit: int, cursor: str | None = None
) -> tuple[Sequence[asyncpg.Record], str | None]:
    """Return one page of rows, newest first, and the next page's cursor.

    Raises BadCursor if the cursor belongs to another query.
    """
    asked = question("search", *at, *span, asdict(filters))
    after = None if cursor is None else decode(cursor, asked, _POSITION)
    rows = await pool.fetch(*_statement(at, span, filters, limit + 1, after))
    # The row at which a text scan stopped before the end of all records.
    ended_at = rows.pop() if filters.text is not None and rows and rows[-1]["ended_here"] else None
    sizes = (OVERHEAD + len(row["text"] or "") + len(row["correction"] or "") for row in rows)
    page, more = page_of(rows, sizes, limit)
    last = page[-1] if more else ended_at
    return page, encode(asked, (last["occurred_at"], last["feedback_id"])) if last else None


async def every(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> AsyncIterator[asyncpg.Record]:
    """Yield all matching rows, page by page: a slow reader holds no connection, and memory is bounded."""
    cursor: str | None = None
    while True:
        rows, cursor = await found(pool, at, span, filters, 500, cursor)
        for row in rows:
            yield row
        if cursor is None:
            return


async def neighbours(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, place: Place
) -> tuple[asyncpg.Record | None, asyncpg.Record | None]:
    """Return the next newer and the next older feedback record in the list; None at an end."""
    newer = await pool.fetchrow(*_statement(at, span, filters, 1, place, newer=True))
    older = await pool.fetchrow(*_statement(at, span, filters, 1, place))
    return _match(newer), _match(older)


async def with_answers(pool: asyncpg.Pool, at: Project, rows: Sequence[asyncpg.Record]) -> list[dict[str, Any]]:
    """Add to each row the first 280 characters of the `answer` that it is about; None if unknown."""
    found_answers = await pool.fetch(_ANSWERS, *at, [row["feedback_id"] for row in rows])
    answers = {row["feedback_id"]: row["answer"] for row in found_answers}
    return [{**row, "answer": answers.get(row["feedback_id"])} for row in rows]


def _match(row: asyncpg.Record | None) -> asyncpg.Record | None:
    return None if row is None or row.get("ended_here") else row


def as_answer(row: asyncpg.Record) -> FoundFeedback:
    known = {name: row[name] for name in FoundFeedback.model_fields if name != "ts"}
    return FoundFeedback(ts=format_instant(row["occurred_at"]), **known)


def _statement(
    at: Project, span: TimeSpan, filters: Filters, limit: int, after: Place | None, *, newer: bool = False
) -> tuple[Any, ...]:
    sources = _sources(filters)
    if not sources:
        return _NOTHING, *at
    condition, values = where(at, span, replace(filters, text=None))
    if after is not None:
        condition += (_NEWER if newer else _OLDER).format(at=len(values) + 1, next=len(values) + 2)
        values += after
    order = "occurred_at, feedback_id" if newer else "occurred_at desc, feedback_id desc"
    if filters.text is None:
        parts = [_PART.format(view=view, condition=condition, order=order, limit=limit) for view in sources.values()]
        return _joined(parts, order, limit), *values
    looked = [
        _LOOKED.format(
            table=table,
            is_live=IS_LIVE[table],
            is_reply=table == "replies",
            condition=condition,
            order=order,
            pattern=len(values) + 1,
            last=LOOKED_THROUGH,
        )
        for table in sources
    ]
    statement = _LOOK.format(
        looked=_joined(looked, order, LOOKED_THROUGH),
        view=filters.view,
        rows=" union all ".join(_ROWS.format(table=table) for table in sources),
        order=order,
        limit=limit,
        last=LOOKED_THROUGH - 1,
    )
    return statement, *values, substring(filters.text)


def _joined(parts: Sequence[str], order: str, limit: int) -> str:
    """Return the statement for the first `limit` rows of all parts, which are in the same order."""
    return parts[0] if len(parts) == 1 else f"{' union all '.join(parts)} order by {order} limit {limit}"


def _sources(filters: Filters) -> dict[FeedbackTable, str]:
    """Return the tables with records that may match the filters, each with the view of those that are listed."""
    found: dict[FeedbackTable, str] = {}
    if filters.has_verdicts:
        found["feedbacks"] = filters.view
    if filters.has_replies:
        found["replies"] = "live_replies"
    return found
