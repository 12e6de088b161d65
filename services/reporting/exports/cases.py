"""Feedback records with their context, read page by page to limit memory usage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from operator import itemgetter
from typing import Any, Final

import asyncpg

from reporting.exports.examples import FeedbackCase, Missing, PromptMessage
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


async def cases(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, *, every_record: bool = True
) -> AsyncIterator[FeedbackCase]:
    """Yield each matching feedback record with its context, newest first.

    Args:
        every_record: If False, yield one record per judged answer and person: the person's own verdict, or else the
            machine's newest one.
    """
    cursor: str | None = None
    while True:
        rows, cursor = await found(pool, project, span, filters, PAGE, cursor)
        deciding = rows if every_record else await _deciding(pool, project, rows, filters)
        for case in await _with_contexts(pool, project, deciding):
            yield case
        if cursor is None:
            return


async def _deciding(
    pool: asyncpg.Pool, project: Project, rows: Sequence[asyncpg.Record], filters: Filters
) -> list[asyncpg.Record]:
    """Omit machine verdicts if the same person's own or newer verdict on the answer is exported instead."""
    machine = [(n, *_JUDGED(row)) for n, row in enumerate(rows) if row["origin"] == "machine"]
    statement = SQL.replaced_verdicts.bulk(machine, **project._asdict(), origins=filters.origins)
    replaced = {row["n"] for row in await pool.fetch(*statement)} if machine else set()
    return [row for n, row in enumerate(rows) if n not in replaced]


async def _with_contexts(pool: asyncpg.Pool, project: Project, rows: Sequence[asyncpg.Record]) -> list[FeedbackCase]:
    if not rows:
        return []
    of = project._asdict()
    judged = [(n, *_NAMED(row)) for n, row in enumerate(rows)]
    pairs = await _by_number(pool, SQL.exchanges_of_feedback.bulk(judged, **of))
    questions = [(n, rows[n]["conversation_id"], *_ASKED(pair)) for n, pair in pairs.items() if pair["question"]]
    before: dict[int, list[PromptMessage]] = defaultdict(list)
    for message in await pool.fetch(*SQL.messages_before_questions.bulk(questions, **of, limit=CONTEXT - 1)):
        before[message["n"]].append(_prompt_message(message))
    rejected = [
        (n, rows[n]["conversation_id"], *(pair[name] for name in ("message_id", "question_id", "asked_at", "question")))
        for n, pair in pairs.items()
        if rows[n]["reaction"] == "not_ok" and pair["question"]
    ]
    better = await _by_number(pool, SQL.better_answers.bulk(rejected, **of))
    return [
        FeedbackCase(
            row=dict(row),
            project=project,
            **_exchange(pairs.get(n), before[n], row["answer_id"]),
            better=better[n]["content"] if n in better else None,
        )
        for n, row in enumerate(rows)
    ]


def _exchange(pair: asyncpg.Record | None, before: Sequence[PromptMessage], answer_id: str | None) -> dict[str, Any]:
    """Return the answer and the prompt of a case, and the reason why one of them is missing."""
    if pair is None:
        return {"missing": "answer_unknown", "answer_message_id": answer_id}
    question = pair["question"]
    missing: Missing | None = None
    if not pair["has_text"]:
        missing = "answer_empty"
    elif pair["answer"] is None:
        missing = "answer_edited"
    elif pair["question_id"] is None:
        missing = "question_unknown"
    elif question is None:
        missing = "question_edited"
    elif pair["is_uncertain"]:
        missing = "question_uncertain"
    return {
        "missing": missing,
        "prompt": () if question is None else (*before, PromptMessage("user", question)),
        "answer": pair["answer"],
        "answer_message_id": pair["message_id"],
        "question_message_id": pair["question_id"],
        "asker_id": pair["sender_id"],
    }


async def _by_number(pool: asyncpg.Pool, statement: tuple[Any, ...]) -> dict[int, Any]:
    return {row["n"]: row for row in await pool.fetch(*statement)}


def _prompt_message(row: asyncpg.Record) -> PromptMessage:
    return PromptMessage("user" if row["sender_type"] == "human" else "assistant", row["content"])
