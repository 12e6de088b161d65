"""The newest reactions, each with the answer it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import asyncpg

from reporting.scope import Filters, Project, Span


@dataclass(frozen=True, slots=True)
class Newest:
    """One effective reaction for people to read. `occurred_at` is in microseconds; texts are shortened."""

    conversation_id: str
    turn_id: str
    agent_id: str
    origin: str
    feedback_type: str
    reaction: str
    emoji: str | None
    confidence: float
    text: str | None
    correction: str | None
    tags: list[str]
    occurred_at: int
    answer: str | None


_NEWEST: Final = """
select e.conversation_id, e.turn_id, e.agent_id, e.origin, e.feedback_type, e.reaction, e.emoji, e.confidence,
       left(e.text, 400) as text, left(e.correction, 400) as correction, e.tags, e.occurred_at,
       left(coalesce(
           (select m.content from messages m
            where m.tenant = e.tenant and m.project = e.project and m.message_id = e.agent_message_id),
           (select m.content from messages m
            where m.tenant = e.tenant and m.project = e.project and m.conversation_id = e.conversation_id
              and m.turn_id = e.turn_id and m.sender_type = 'agent'
            order by m.occurred_at desc, m.sequence desc limit 1)
       ), 280) as answer
from (
    select * from effective
    where tenant = $1 and project = $2 and occurred_at >= $3 and occurred_at < $4
      and ($5::text is null or agent_id = $5) and ($6::text is null or origin = $6)
    order by occurred_at desc, conversation_id
    limit $7
) e
order by e.occurred_at desc, e.conversation_id
"""


async def newest(pool: asyncpg.Pool, at: Project, span: Span, filters: Filters, limit: int) -> list[Newest]:
    """The window's newest reactions, newest first."""
    rows = await pool.fetch(_NEWEST, *at, *span, filters.agent_id, filters.origin, limit)
    return [Newest(**dict(row)) for row in rows]
