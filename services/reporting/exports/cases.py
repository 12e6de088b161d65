"""Feedback records with their context messages, read in pages so that memory stays bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import asyncpg

from contracts.chat import DELETED
from contracts.sources import REVIEW
from reporting.exports.examples import FeedbackCase, PromptMessage
from reporting.queries.search import found
from reporting.selection import Filters, Project, TimeSpan

PAGE: Final = 200
"""Number of feedback records whose contexts are in memory at once."""
CONTEXT: Final = 20
"""Maximum number of messages before an answer in the prompt."""
CONTENT_LIMIT: Final = 20_000
"""Maximum characters of each message; the rest is cut off."""


def _words(message: str, until: str) -> str:
    """Return the SQL of a message's text at the time `until`; null if it was erased, deleted or edited since."""
    # Bytes 2 to 9 of a version are its time (contracts/versions.py).
    return f"""case when {message}.content not in ('', '{DELETED}')
    and substring({message}.version from 2 for 8) <= int8send(greatest({message}.occurred_at, {until}))
    then left({message}.content, {CONTENT_LIMIT}) end"""


# The answer is the message that the feedback names, otherwise the turn's last one; its text is that at the judgement.
_ANSWERS: Final = f"""
select n.n, a.message_id, a.turn_id, a.reply_to, a.thread, a.occurred_at, a.sequence,
    {_words("a", "n.judged_at")} as content
from unnest($3::int[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    as n (n, conversation_id, turn_id, message_id, judged_at)
cross join lateral (
    select * from messages m
    where m.tenant = $1 and m.project = $2 and m.conversation_id = n.conversation_id and m.sender_type = 'agent'
      and (m.message_id = n.message_id or (n.message_id is null and m.turn_id = n.turn_id))
    order by m.occurred_at desc, m.sequence desc limit 1
) a
"""
_BEFORE_ANSWER: Final = """m.tenant = $1 and m.project = $2 and m.conversation_id = a.conversation_id
           and m.message_id <> a.message_id and (m.occurred_at, m.sequence) <= (a.occurred_at, a.sequence)"""
_IN_THREAD: Final = "m.thread = {0}.thread and hashtextextended(m.thread, 0) = hashtextextended({0}.thread, 0)"
_LAST: Final = "order by m.occurred_at desc, m.sequence desc, m.sender_type limit 1"
# The request of the answer `a`, in this order of preference: the last message before `a` in its turn; the last message
# before `a` among the message that `a` replies to and other replies to that; if `a` replies to nothing, the message
# directly before it, or its thread's root. None if an agent wrote that message. A message that is found only by its
# position must have no turn id and be earlier than `a`.
_REQUEST: Final = f"""
cross join lateral (
    select * from (
        (select *, 2 as sure from messages m where {_BEFORE_ANSWER} and m.turn_id = a.turn_id {_LAST})
        union all
        (select *, 1 from messages m
         where {_BEFORE_ANSWER} and (m.message_id = a.reply_to or m.reply_to = a.reply_to)
           and (m.thread = a.thread or m.message_id = a.thread) {_LAST})
        union all
        (select *, 0 from messages m where {_BEFORE_ANSWER} and a.reply_to is null and {_IN_THREAD.format("a")} {_LAST})
        union all
        (select *, -1 from messages m where {_BEFORE_ANSWER} and a.reply_to is null and m.message_id = a.thread)
    ) p order by sure desc limit 1
) r
where r.sender_type = 'human'
  and (r.sure > 0 or r.turn_id is null and (r.occurred_at, r.sequence) < (a.occurred_at, a.sequence))
"""
_REQUESTS: Final = f"""
select a.n, r.message_id, r.occurred_at, r.sequence, {_words("r", "a.occurred_at")} as content
from unnest($3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[])
    as a (n, conversation_id, turn_id, message_id, reply_to, thread, occurred_at, sequence)
{_REQUEST}
"""
_OF_ANSWER: Final = ("turn_id", "message_id", "reply_to", "thread", "occurred_at", "sequence")
_BEFORE_REQUEST: Final = """m.tenant = $1 and m.project = $2 and m.conversation_id = n.conversation_id
      and (m.occurred_at, m.sequence) < (n.occurred_at, n.sequence)"""
# The messages before a request: those of the answer's thread and its root, or those of the channel without threads.
_BEFORE: Final = f"""
select n.n, p.sender_type, left(p.content, {CONTENT_LIMIT}) as content
from unnest($3::int[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    as n (n, conversation_id, thread, occurred_at, sequence)
cross join lateral (
    select * from (
        (select * from messages m where {_BEFORE_REQUEST} and {_IN_THREAD.format("n")}
         order by m.occurred_at desc, m.sequence desc limit {CONTEXT - 1})
        union all
        (select * from messages m where {_BEFORE_REQUEST} and n.thread <> '' and m.message_id = n.thread
           and m.thread <> n.thread)
    ) near order by occurred_at desc, sequence desc limit {CONTEXT - 1}
) p
where p.content not in ('', '{DELETED}')
order by n.n, p.occurred_at, p.sequence
"""
# The last accepted answer to a later request with the same text in the conversation.
_BETTER: Final = f"""
select distinct on (n.n) n.n, {_words("a", "e.occurred_at")} as content
from unnest($3::int[], $4::text[], $5::bigint[], $6::text[]) as n (n, conversation_id, occurred_at, question)
join effective e on e.tenant = $1 and e.project = $2 and e.conversation_id = n.conversation_id
  and e.reaction = 'ok' and e.origin <> 'machine'
join messages a on a.tenant = $1 and a.project = $2 and a.conversation_id = n.conversation_id
  and a.message_id = e.agent_message_id and a.occurred_at > n.occurred_at
{_REQUEST}
  and {_words("a", "e.occurred_at")} is not null
  and lower(btrim({_words("r", "a.occurred_at")})) = lower(btrim(n.question))
order by n.n, a.occurred_at desc
"""
_PEOPLE: Final = """
select distinct on (n.n) n.n, e.reaction, e.source
from unnest($3::int[], $4::text[], $5::text[]) as n (n, conversation_id, turn_id)
join effective e on e.tenant = $1 and e.project = $2 and e.conversation_id = n.conversation_id
  and e.turn_id = n.turn_id and e.origin <> 'machine'
order by n.n, e.occurred_at desc, e.feedback_id desc
"""


async def cases(pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters) -> AsyncIterator[FeedbackCase]:
    """Yield every matching feedback record with its context, newest first."""
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
    numbers = list(range(len(rows)))
    conversations = [row["conversation_id"] for row in rows]
    turns = [row["turn_id"] for row in rows]
    named = [row["agent_message_id"] for row in rows]
    judged = [row["occurred_at"] for row in rows]
    answers = _by_number(await pool.fetch(_ANSWERS, *at, numbers, conversations, turns, named, judged))
    of_answers = ([answers[n][name] for n in answers] for name in _OF_ANSWER)
    known = [conversations[n] for n in answers]
    asked = _by_number(await pool.fetch(_REQUESTS, *at, list(answers), known, *of_answers))
    places = ([asked[n][name] for n in asked] for name in ("occurred_at", "sequence"))
    before: dict[int, list[PromptMessage]] = defaultdict(list)
    inside = [conversations[n] for n in asked], [answers[n]["thread"] for n in asked]
    for one in await pool.fetch(_BEFORE, *at, list(asked), *inside, *places):
        before[one["n"]].append(_said(one))
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
        for n, row in enumerate(rows)
    ]


def _by_number(rows: Sequence[asyncpg.Record]) -> dict[int, Any]:
    return {row["n"]: row for row in rows}


def _said(row: asyncpg.Record) -> PromptMessage:
    return PromptMessage("user" if row["sender_type"] == "human" else "assistant", row["content"])
