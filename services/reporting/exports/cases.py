"""Feedbacks with their contexts, page by page: memory is bounded however much is exported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import asyncpg

from contracts.sources import REVIEW
from reporting.exports.examples import Case, Said
from reporting.queries.search import found
from reporting.selection import Filters, Project, Span

PAGE: Final = 200
"""Feedbacks whose contexts are held at once."""
CONTEXT: Final = 20
"""Messages before an answer that come along."""
CONTENT_LIMIT: Final = 20_000
"""Characters of each of them; the rest is cut off."""

# The answer is the message that the feedback names, else the turn's last one. A blank text was erased.
_ANSWERS: Final = f"""
select n.n, a.message_id, a.turn_id, left(a.content, {CONTENT_LIMIT}) as content, a.occurred_at, a.sequence
from unnest($3::int[], $4::text[], $5::text[], $6::text[]) as n (n, conversation_id, turn_id, message_id)
cross join lateral (
    select * from messages m
    where m.tenant = $1 and m.project = $2 and m.conversation_id = n.conversation_id and m.sender_type = 'agent'
      and (m.message_id = n.message_id or (n.message_id is null and m.turn_id = n.turn_id))
    order by m.occurred_at desc, m.sequence desc limit 1
) a
"""
_BEFORE: Final = f"""
select n.n, p.message_id, p.sender_type, left(p.content, {CONTENT_LIMIT}) as content
from unnest($3::int[], $4::text[], $5::bigint[], $6::bigint[]) as n (n, conversation_id, occurred_at, sequence)
cross join lateral (
    select * from messages m
    where m.tenant = $1 and m.project = $2 and m.conversation_id = n.conversation_id
      and (m.occurred_at, m.sequence) < (n.occurred_at, n.sequence)
    order by m.occurred_at desc, m.sequence desc limit {CONTEXT}
) p
order by n.n, p.occurred_at, p.sequence
"""
# The same words asked again later in the conversation, and the last answer to them that people accepted.
_BETTER: Final = f"""
select distinct on (n.n) n.n, left(a.content, {CONTENT_LIMIT}) as content
from unnest($3::int[], $4::text[], $5::bigint[], $6::text[]) as n (n, conversation_id, occurred_at, question)
join effective e on e.tenant = $1 and e.project = $2 and e.conversation_id = n.conversation_id
  and e.reaction = 'ok' and e.origin = 'user'
join messages a on a.tenant = $1 and a.project = $2 and a.conversation_id = n.conversation_id
  and a.message_id = e.agent_message_id and a.occurred_at > n.occurred_at and a.content <> ''
cross join lateral (
    select q.content from messages q
    where q.tenant = $1 and q.project = $2 and q.conversation_id = n.conversation_id and q.sender_type = 'human'
      and (q.occurred_at, q.sequence) < (a.occurred_at, a.sequence)
    order by q.occurred_at desc, q.sequence desc limit 1
) q
where lower(btrim(q.content)) = lower(btrim(n.question))
order by n.n, a.occurred_at desc
"""
_PEOPLE: Final = """
select distinct on (n.n) n.n, e.reaction, e.source
from unnest($3::int[], $4::text[], $5::text[]) as n (n, conversation_id, turn_id)
join effective_or_review e on e.tenant = $1 and e.project = $2 and e.conversation_id = n.conversation_id
  and e.turn_id = n.turn_id and e.origin = 'user'
order by n.n, e.occurred_at desc, e.feedback_id desc
"""


async def cases(pool: asyncpg.Pool, at: Project, span: Span, filters: Filters) -> AsyncIterator[Case]:
    """Every feedback that matches, newest first, with its context."""
    cursor: str | None = None
    while True:
        rows, cursor = await found(pool, at, span, filters, PAGE, cursor)
        for case in await _with_contexts(pool, at, rows):
            yield case
        if cursor is None:
            return


async def _with_contexts(pool: asyncpg.Pool, at: Project, rows: Sequence[asyncpg.Record]) -> list[Case]:
    if not rows:
        return []
    numbers = list(range(len(rows)))
    conversations = [row["conversation_id"] for row in rows]
    turns = [row["turn_id"] for row in rows]
    named = [row["agent_message_id"] for row in rows]
    answers = _by_number(await pool.fetch(_ANSWERS, *at, numbers, conversations, turns, named))
    known = sorted(answers)
    places = (
        [conversations[n] for n in known],
        [answers[n]["occurred_at"] for n in known],
        [answers[n]["sequence"] for n in known],
    )
    before: dict[int, list[asyncpg.Record]] = defaultdict(list)
    for one in await pool.fetch(_BEFORE, *at, known, *places):
        before[one["n"]].append(one)
    asked = {n: said[-1] for n, said in before.items() if said[-1]["sender_type"] == "human"}
    bad = [n for n in asked if rows[n]["reaction"] == "not_ok" and asked[n]["content"]]
    better = _by_number(
        await pool.fetch(
            _BETTER,
            *at,
            bad,
            [conversations[n] for n in bad],
            [answers[n]["occurred_at"] for n in bad],
            [asked[n]["content"] for n in bad],
        )
    )
    machine = [n for n in numbers if rows[n]["origin"] == "machine"]
    of_machine = ([conversations[n] for n in machine], [turns[n] for n in machine])
    people = _by_number(await pool.fetch(_PEOPLE, *at, machine, *of_machine))
    return [
        Case(
            row=dict(row),
            prompt=_prompt(before.get(n, ())),
            answer=answers[n]["content"] if n in answers else None,
            answer_message_id=answers[n]["message_id"] if n in answers else row["agent_message_id"],
            question_message_id=asked[n]["message_id"] if n in asked else None,
            better=better[n]["content"] if n in better else None,
            people=people[n]["reaction"] if n in people else None,
            reviewed=n in people and people[n]["source"] == REVIEW,
        )
        for n, row in enumerate(rows)
    ]


def _by_number(rows: Sequence[asyncpg.Record]) -> dict[int, Any]:
    return {row["n"]: row for row in rows}


def _prompt(before: Sequence[asyncpg.Record]) -> tuple[Said, ...]:
    """Return the messages before an answer; none where the last one was erased, for the answer is to that one."""
    if not before or not before[-1]["content"]:
        return ()
    return tuple(_said(one) for one in before if one["content"])


def _said(row: asyncpg.Record) -> Said:
    return Said("user" if row["sender_type"] == "human" else "assistant", row["content"])
