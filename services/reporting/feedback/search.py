"""Search for feedback records, used by the list page, the exports and the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final
from uuid import UUID

import asyncpg
from pydantic import Field, TypeAdapter

from contracts.base import CorrectionType, DecidedBy, FeedbackType, Origin, Reaction
from contracts.fields import BestRating, Rating, WorstRating
from contracts.instants import format_instant
from reporting.model.cursor import Moment, decode, encode, fingerprint
from reporting.model.paging import OVERHEAD, page_of, size_of
from reporting.model.responses import ResponseModel, Time
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.model.words import patterns
from reporting.sql import SQL


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
            description="`reaction`: an emoji. `explicit`: a judgement. `inferred`: a machine verdict. `implicit`: a "
            "reply, which is not a verdict: no share includes it."
        ),
    ]
    reaction: Annotated[Reaction | None, Field(description="The verdict; null for a reply.")]
    value: Annotated[float | None, Field(description="The reward, -1 to 1.")]
    confidence: Annotated[float, Field(description="Confidence of the verdict, 0 to 1; 1 for a person's own verdict.")]
    text: Annotated[
        str | None, Field(description="The person's comment or reply, or the message that the machine judged.")
    ]
    tags: Annotated[list[str], Field(description="Reasons for the verdict.")]
    correction: Annotated[str | None, Field(description="The answer that the person wanted instead.")]
    correction_type: Annotated[
        CorrectionType | None, Field(description="The kind of rejection that the machine inferred.")
    ]
    emoji: Annotated[str | None, Field(description="The emoji of a reaction.")]
    source: Annotated[
        str,
        Field(
            description="Source: `chat`, `post` (comments on and reactions to an agent's posts and comments), `api`,"
            " `inference` or `review`."
        ),
    ]
    reviews: Annotated[
        str | None, Field(description="For a review: the reviewed machine verdict or turn; otherwise null.")
    ]
    detector: Annotated[str | None, Field(description="For a machine verdict: the detector's version.")]
    decided_by: Annotated[
        DecidedBy | None, Field(description="For a machine verdict: the part of the detector that decided.")
    ]
    rating: Rating
    worst_rating: WorstRating
    best_rating: BestRating
    ts: Annotated[Time, Field(description="Time of the verdict.")]
    rn: Annotated[str, Field(description="The feedback's resource name.")]


class FoundFeedbacks(ResponseModel):
    """One page of feedback records in the order of `sort`, with at most 2 MiB of text.

    If more than 3,000 texts contain the search `words`, a page scans at most 1,000 records. A page may therefore be
    empty and still have a `next_cursor`.
    """

    items: Annotated[list[FoundFeedback], Field(description="Feedback records in the order of `sort`.")]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]


_POSITION: Final = TypeAdapter(tuple[Moment, UUID])
SCANNED: Final = 1_000
"""Maximum number of records that one page scans for frequent words. The next page continues the scan."""
MOST_TEXTS: Final = 3_000
"""Maximum number of texts with the search words to collect from the index. If there are more, pages scan records."""
_AT_ONCE: Final = 10
_OLDER: Final = " and e.occurred_at <= :after and (e.occurred_at, e.feedback_id) < (:after, :after_id)"
_NEWER: Final = " and e.occurred_at >= :after and (e.occurred_at, e.feedback_id) > (:after, :after_id)"
Place = tuple[int, UUID]
"""Position of a feedback record in the list: its time in microseconds, and its id."""


async def found(
    pool: asyncpg.Pool,
    project: Project,
    span: TimeSpan,
    filters: Filters,
    limit: int,
    cursor: str | None = None,
    *,
    oldest_first: bool = False,
    resolved: Filters | None = None,
) -> tuple[Sequence[asyncpg.Record], str | None]:
    """Return one page of matching rows, by default newest first, and the cursor of the next page.

    Args:
        resolved: Result of `looked_up` for the filters, if the caller has it.

    Returns:
        The rows, and the cursor, which is None on the last page.

    Raises:
        BadCursor: If the cursor belongs to another query or another order.
    """
    query = fingerprint("search", *project, *span, filters.model_dump(), *(("oldest first",) if oldest_first else ()))
    after = None if cursor is None else decode(cursor, query, _POSITION)
    filters = resolved or await looked_up(pool, project, filters)
    span = await narrowed(pool, project, span, filters)
    rows = await pool.fetch(*_statement(project, span, filters, limit + 1, after, newer=oldest_first))
    # The row at which a text scan stopped before the end of all records.
    ended_at = rows.pop() if filters.scans and rows and rows[-1]["ended_here"] else None
    sizes = (OVERHEAD + size_of(row["text"], row["correction"]) for row in rows)
    page, more = page_of(rows, sizes, limit)
    last = page[-1] if more else ended_at
    return page, encode(query, (last["occurred_at"], last["feedback_id"])) if last else None


async def narrowed(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters) -> TimeSpan:
    """Narrow the time span for a query with the filter `judged`.

    Returns the part of the span in which people judged machine verdicts, according to the roll-ups. If they judged only
    a few, a query over the whole span would read the turns of nearly all machine verdicts. Without the filter `judged`,
    the span is returned unchanged.
    """
    if filters.judged is None:
        return span
    row = await pool.fetchrow(*SQL.times_of_judged(**project._asdict(), **span._asdict()))
    if row is None or row["first"] is None:
        return TimeSpan(span.start, span.start)
    return TimeSpan(max(span.start, row["first"]), min(span.end, row["last"]))


async def every(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters
) -> AsyncIterator[asyncpg.Record]:
    """Yield all matching rows.

    They are read page by page, so a slow reader holds no connection and little memory.
    """
    cursor: str | None = None
    while True:
        rows, cursor = await found(pool, project, span, filters, 500, cursor)
        for row in rows:
            yield row
        if cursor is None:
            return


async def following(
    pool: asyncpg.Pool,
    project: Project,
    span: TimeSpan,
    filters: Filters,
    position: Place | None,
    turn: tuple[str | None, str | None],
    *,
    newer: bool = False,
) -> asyncpg.Record | None:
    """Return the next record in the list that is not about `turn`, or None at the end of the list.

    Args:
        position: Position after which to search, or None for the start of the list.
        turn: Conversation id and turn id.
        newer: Go through the list from oldest to newest instead of from newest to oldest.
    """
    filters = await looked_up(pool, project, filters)
    span = await narrowed(pool, project, span, filters)
    for _ in range(100):  # a search for frequent words may read on for long without a match
        rows = await pool.fetch(*_statement(project, span, filters, _AT_ONCE, position, newer=newer))
        for row in rows:
            if not row.get("ended_here") and (row["conversation_id"], row["turn_id"]) != turn:
                return row
        if len(rows) < _AT_ONCE and not (rows and rows[-1].get("ended_here")):
            break
        position = (rows[-1]["occurred_at"], rows[-1]["feedback_id"])
    return None


async def with_answers(pool: asyncpg.Pool, project: Project, rows: Sequence[asyncpg.Record]) -> list[dict[str, Any]]:
    """Add to each row the first 280 characters of its answer and of the question.

    The columns `answer` and `question` are None if they are unknown.
    """
    texts = await pool.fetch(*SQL.answers_of_found(**project._asdict(), ids=[row["feedback_id"] for row in rows]))
    answers = {row["feedback_id"]: {"answer": row["answer"], "question": row["question"]} for row in texts}
    unknown = {"answer": None, "question": None}
    return [{**row, **answers.get(row["feedback_id"], unknown)} for row in rows]


async def looked_up(pool: asyncpg.Pool, project: Project, filters: Filters) -> Filters:
    """Look up the search words of the filters in the index.

    Returns:
        The filters with `words` replaced by `among`, the ids of the records that contain the words. If there are no
        words, or if at least MOST_TEXTS texts contain them, the filters are returned unchanged.
    """
    if filters.words is None:
        return filters
    wanted = patterns(filters.words)
    if not wanted:
        return filters.replace(words=None, among=())
    statement = SQL.feedback_about(**project._asdict(), words=filters.words, patterns=wanted, most=MOST_TEXTS)
    row = await pool.fetchrow(*statement)
    assert row is not None
    return filters if row["texts"] >= MOST_TEXTS else filters.replace(words=None, among=tuple(row["ids"]))


def as_answer(row: asyncpg.Record) -> FoundFeedback:
    columns = {name: row[name] for name in FoundFeedback.model_fields if name != "ts"}
    return FoundFeedback(ts=format_instant(row["occurred_at"]), **columns)


def _statement(
    project: Project, span: TimeSpan, filters: Filters, limit: int, after: Place | None, *, newer: bool = False
) -> tuple[Any, ...]:
    condition, values = where(project, span, filters)
    values["limit"] = limit
    if after is not None:
        condition += _NEWER if newer else _OLDER
        values |= {"after": after[0], "after_id": after[1]}
    parts = {
        "view": filters.list_view,
        "where": condition,
        "order": "occurred_at, feedback_id" if newer else "occurred_at desc, feedback_id desc",
    }
    if not filters.scans:
        return SQL.search.filled(**parts)(**values)
    values |= {"words": patterns(filters.words or ""), "scanned": SCANNED}
    return SQL.search_text.filled(**parts)(**values)
