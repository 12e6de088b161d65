"""Queries for one agent: its most rejected conversations, and words typical of its rejected questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import log, sqrt
from typing import Final

import asyncpg

from reporting.selection import Filters, Project, TimeSpan, where


@dataclass(frozen=True, slots=True)
class BadConversation:
    """Conversation with rejections, counted for `people` (users) and `machine` (machine verdicts and reviews).

    `turn_id` is the turn of the newest rejection, `last_at` the time of that rejection in microseconds.
    """

    conversation_id: str
    turn_id: str
    people: int
    machine: int
    last_at: int


@dataclass(frozen=True, slots=True)
class TypicalWord:
    """Word that is more frequent in questions with rejected answers than in others. Counts are of turns."""

    word: str
    rejected: int
    others: int


_WORST: Final = """
select e.conversation_id, (array_agg(e.turn_id order by e.occurred_at desc))[1] as turn_id,
       count(*) filter (where e.origin = 'user') as people, count(*) filter (where e.origin <> 'user') as machine,
       max(e.occurred_at) as last_at
from {view} e where {where} and e.reaction = 'not_ok'
group by e.conversation_id
order by count(*) filter (where e.origin = 'user') desc, count(*) desc, max(e.occurred_at) desc
limit {limit}
"""
_SAMPLE: Final = 400
_QUESTIONS: Final = f"""
select j.rejected, (
    select left(m.content, 1000) from messages m
    where m.conversation_id = j.conversation_id and m.tenant = $1 and m.project = $2 and m.sender_type = 'human'
      and m.occurred_at < j.occurred_at and (m.turn_id is null or m.turn_id = j.turn_id)
    order by m.occurred_at desc, m.sequence desc limit 1
) as content
from (
    (select e.conversation_id, e.turn_id, e.occurred_at, true as rejected
     from {{view}} e where {{where}} and e.reaction = 'not_ok' order by e.occurred_at desc limit {_SAMPLE})
    union all
    (select e.conversation_id, e.turn_id, e.occurred_at, false as rejected
     from {{view}} e where {{where}} and e.reaction <> 'not_ok' order by e.occurred_at desc limit {_SAMPLE})
) j
"""
_WORD: Final = re.compile(r"[^\W\d_]{3,30}")
_SURE: Final = 1.96


async def worst_conversations(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, limit: int = 10
) -> list[BadConversation]:
    """List the conversations with the most rejections; people's rejections count first."""
    condition, values = where(at, span, filters)
    rows = await pool.fetch(_WORST.format(view=filters.view, where=condition, limit=limit), *values)
    return [BadConversation(**dict(row)) for row in rows]


async def rejected_words(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> list[TypicalWord]:
    """Return the words typical of rejected questions, from the newest 400 rejected and 400 other turns at most."""
    condition, values = where(at, span, filters)
    rows = await pool.fetch(_QUESTIONS.format(view=filters.view, where=condition), *values)
    return typical_words(
        [row["content"] for row in rows if row["rejected"] and row["content"]],
        [row["content"] for row in rows if not row["rejected"] and row["content"]],
    )


def typical_words(rejected: Iterable[str], others: Iterable[str], most: int = 12) -> list[TypicalWord]:
    """Return words that are significantly more frequent in `rejected` texts, most significant first.

    A word must be in at least 3 rejected texts, with a z-score above 1.96 (log-odds with 0.5 added to each count).
    """
    bad, good = [_words(text) for text in rejected], [_words(text) for text in others]
    in_bad, in_good = (Counter(word for words in texts for word in words) for texts in (bad, good))
    scored = []
    for word, count in in_bad.items():
        a, b = count + 0.5, len(bad) - count + 0.5
        c, d = in_good[word] + 0.5, len(good) - in_good[word] + 0.5
        z = (log(a / b) - log(c / d)) / sqrt(1 / a + 1 / b + 1 / c + 1 / d)
        if count >= 3 and z > _SURE:
            scored.append((-z, TypicalWord(word, count, in_good[word])))
    return [word for _, word in sorted(scored, key=lambda one: (one[0], one[1].word))[:most]]


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
