"""Feedback records with their context, read page by page to limit memory usage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from operator import itemgetter
from typing import Any, Final

import asyncpg

from contracts.sources import REVIEW
from reporting.egress.exports.examples import FeedbackCase, PromptMessage
from reporting.queries.search import found
from reporting.queries.selection import Filters, Project, TimeSpan
from reporting.sql import SQL

PAGE: Final = 200
"""Number of feedback records per page. Only one page is in memory at a time."""
CONTEXT: Final = 20
"""Maximum number of messages in a prompt. The last messages before the answer are used."""
_NAMED: Final = itemgetter("conversation_id", "turn_id", "agent_message_id", "occurred_at")
_OF_ANSWER: Final = itemgetter("turn_id", "message_id", "reply_to", "thread", "occurred_at", "sequence")


async def cases(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> AsyncIterator[FeedbackCase]:
    """Yield each matching feedback record with its context, newest first."""
    cursor: str | None = None
    while True:
        rows, cursor = await found(pool, at, span, filters, PAGE, cursor)
        for case in await _with_contexts(pool, at, rows):
            yield case
        if cursor is None:
            return


async def _with_contexts(pool: asyncpg.Pool, at: Project, rows: Sequence[asyncpg.Record]) -> list[FeedbackCase]:
    if not rows:
        return []
    of = at._asdict()
    cases = list(enumerate(rows))
    named = [(n, *_NAMED(row)) for n, row in cases]
    answers = await _by_number(pool, SQL.answers_of_feedback.bulk(named, **of))
    answered = [(n, rows[n]["conversation_id"], *_OF_ANSWER(answer)) for n, answer in answers.items()]
    asked = await _by_number(pool, SQL.requests_of_answers.bulk(answered, **of))
    requests = [
        (n, rows[n]["conversation_id"], answers[n]["thread"], one["occurred_at"], one["sequence"])
        for n, one in asked.items()
    ]
    before: dict[int, list[PromptMessage]] = defaultdict(list)
    for one in await pool.fetch(*SQL.messages_before_requests.bulk(requests, **of, limit=CONTEXT - 1)):
        before[one["n"]].append(_said(one))
    bad = [
        (n, rows[n]["conversation_id"], answers[n]["occurred_at"], one["content"])
        for n, one in asked.items()
        if rows[n]["reaction"] == "not_ok" and one["content"]
    ]
    better = await _by_number(pool, SQL.better_answers.bulk(bad, **of))
    machine = [(n, row["conversation_id"], row["turn_id"]) for n, row in cases if row["origin"] == "machine"]
    people = await _by_number(pool, SQL.people_on_turns.bulk(machine, **of))
    return [
        FeedbackCase(
            row=dict(row),
            prompt=(*before[n], PromptMessage("user", asked[n]["content"]))
            if n in asked and asked[n]["content"]
            else (),
            answer=answers[n]["content"] if n in answers else None,
            answer_message_id=answers[n]["message_id"] if n in answers else row["agent_message_id"],
            question_message_id=asked[n]["message_id"] if n in asked else None,
            better=better[n]["content"] if n in better else None,
            people=people[n]["reaction"] if n in people else None,
            reviewed=n in people and people[n]["source"] == REVIEW,
        )
        for n, row in cases
    ]


async def _by_number(pool: asyncpg.Pool, statement: tuple[Any, ...]) -> dict[int, Any]:
    return {row["n"]: row for row in await pool.fetch(*statement)}


def _said(row: asyncpg.Record) -> PromptMessage:
    return PromptMessage("user" if row["sender_type"] == "human" else "assistant", row["content"])
