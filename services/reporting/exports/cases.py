"""Feedback records with their context, read page by page to limit memory usage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from operator import itemgetter
from typing import Final

import asyncpg

from reporting.exports.examples import FeedbackCase
from reporting.feedback.search import found
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.sql import SQL

PAGE: Final = 200
"""Number of feedback records per page. Only one page is in memory at a time."""
CONTEXT: Final = 20
"""Maximum number of messages in a prompt. The last messages before the answer are used."""
_NAMED: Final = itemgetter("conversation_id", "answer_id", "occurred_at")
_JUDGED: Final = itemgetter("conversation_id", "turn_id", "answer_id", "user_id", "occurred_at", "feedback_id")
_ASKED: Final = itemgetter("thread", "asked_at", "sequence", "log_time", "log_offset")
_REJECTED: Final = itemgetter("answer_id", "question_id", "asked_at", "question")


async def cases(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, *, every_record: bool = True
) -> AsyncIterator[Sequence[FeedbackCase]]:
    """Yield pages of the matching feedback records with their context, newest first.

    Args:
        every_record: If False, yield one record per judged answer and person: the person's own verdict, or else the
            machine's newest one.
    """
    cursor: str | None = None
    while True:
        rows, cursor = await found(pool, project, span, filters, PAGE, cursor)
        deciding = rows if every_record else await _deciding(pool, project, rows, filters)
        yield await _with_contexts(pool, project, deciding)
        if cursor is None:
            return


async def _deciding(
    pool: asyncpg.Pool, project: Project, rows: Sequence[asyncpg.Record], filters: Filters
) -> list[asyncpg.Record]:
    """Omit a machine verdict if the person's own verdict on the answer, or a newer machine verdict, is exported."""
    machine = [(n, *_JUDGED(row)) for n, row in enumerate(rows) if row["origin"] == "machine"]
    statement = SQL.replaced_verdicts.bulk(machine, **project._asdict(), origins=filters.origins)
    replaced = {row["n"] for row in await pool.fetch(*statement)} if machine else set()
    return [row for n, row in enumerate(rows) if n not in replaced]


async def _with_contexts(pool: asyncpg.Pool, project: Project, rows: Sequence[asyncpg.Record]) -> list[FeedbackCase]:
    of = project._asdict()
    judged = [(n, *_NAMED(row)) for n, row in enumerate(rows)]
    exchanges = {row["n"]: dict(row) for row in await pool.fetch(*SQL.exchanges_of_feedback.bulk(judged, **of))}
    full = {n: exchange for n, exchange in exchanges.items() if exchange["missing"] is None}
    questions = [(n, rows[n]["conversation_id"], *_ASKED(exchange)) for n, exchange in full.items()]
    before: dict[int, list[dict[str, str]]] = defaultdict(list)
    for message in await pool.fetch(*SQL.messages_before_questions.bulk(questions, **of, limit=CONTEXT - 1)):
        before[message["n"]].append({"role": message["role"], "content": message["content"]})
    rejected = [
        (n, rows[n]["conversation_id"], *_REJECTED(exchange))
        for n, exchange in full.items()
        if rows[n]["reaction"] == "not_ok"
    ]
    better = {row["n"]: row["content"] for row in await pool.fetch(*SQL.better_answers.bulk(rejected, **of))}
    return [FeedbackCase(project, dict(row), exchanges[n], before[n], better.get(n)) for n, row in enumerate(rows)]
