"""The index of conversations in PostgreSQL: one statement per step and batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

import asyncpg

from inference.model import Message
from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Placed, Span

_INDEX = """
insert into messages as m
    (tenant, project, message_id, conversation_id, turn_id, sender_id, role, agent_id, text, at, said_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::text[], $10::bigint[], $11::bigint[])
on conflict (tenant, project, message_id) do update set
    conversation_id = case when excluded.said_at > m.said_at then excluded.conversation_id else m.conversation_id end,
    turn_id = case when excluded.said_at > m.said_at then excluded.turn_id else m.turn_id end,
    text = case when excluded.said_at > m.said_at then excluded.text else m.text end,
    at = least(m.at, excluded.at), said_at = greatest(m.said_at, excluded.said_at), versions = m.versions + 1
where excluded.at < m.at
   or (excluded.said_at > m.said_at and (excluded.text, excluded.turn_id) is distinct from (m.text, m.turn_id))
returning tenant, project, message_id
"""
_ROW = """m.message_id, m.turn_id, m.sender_id, m.role, m.agent_id, m.text, m.at, m.said_at, m.versions,
    m.emitted_turn_id, m.emitted_agent_id"""
_IN = "m.tenant = s.tenant and m.project = s.project and m.conversation_id = s.conversation_id"
_AROUND = f"""
with spans as (
    select * from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
                         $8::text[])
        as s (n, tenant, project, conversation_id, first_at, first_id, last_at, last_id)
), rows as (
    select s.n, r.* from spans s, lateral (
        (select {_ROW} from messages m where {_IN} and (m.at, m.message_id) < (s.first_at, s.first_id)
         order by m.at desc, m.message_id desc limit $9)
        union all
        (select {_ROW} from messages m where {_IN} and (m.at, m.message_id) >= (s.first_at, s.first_id)
            and (m.at, m.message_id) <= (s.last_at, s.last_id))
        union all
        (select {_ROW} from messages m where {_IN} and (m.at, m.message_id) > (s.last_at, s.last_id)
         order by m.at, m.message_id limit $9)
    ) r
), starts as (
    select distinct on (n) n, at, message_id from rows order by n, at, message_id
), earlier as (
    select s.n, coalesce(sum(m.versions), 0) as versions
    from starts t join spans s using (n)
    left join messages m on {_IN} and (m.at, m.message_id) < (t.at, t.message_id)
    group by s.n
)
select r.*, (e.versions + sum(r.versions) over (partition by r.n order by r.at, r.message_id))::bigint as evaluation
from rows r join earlier e using (n)
order by r.n, r.at, r.message_id
"""
_EMITTING = """
update messages m set emitted_turn_id = e.turn_id, emitted_agent_id = e.agent_id
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    as e (tenant, project, message_id, turn_id, agent_id)
where m.tenant = e.tenant and m.project = e.project and m.message_id = e.message_id
  and (m.emitted_turn_id, m.emitted_agent_id) is distinct from (e.turn_id, e.agent_id)
"""
_OUTDATED = f"""
select exists (
    select from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[])
        as s (tenant, project, conversation_id, at, message_id, evaluation)
    where s.evaluation < (
        select sum(m.versions) from messages m where {_IN} and (m.at, m.message_id) <= (s.at, s.message_id))
)
"""


class PostgresStore:
    """See `store.Store`. The pool's connections see the table `messages`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        rows = []
        for indexed in sorted(messages, key=lambda one: one.key):
            conversation, message = indexed.conversation, indexed.message
            rows.append(
                (
                    conversation.tenant,
                    conversation.project,
                    message.message_id,
                    conversation.conversation_id,
                    message.turn_id,
                    message.sender_id,
                    message.role,
                    message.agent_id,
                    message.text,
                    message.at,
                    indexed.said_at,
                )
            )
        return {MessageKey(*row) for row in await self._pool.fetch(_INDEX, *_columns(rows, 11))}

    async def around(self, spans: Collection[Span], reach: int) -> Sequence[Sequence[Placed]]:
        ordered = list(spans)
        rows = [(n, *span.conversation, *span.first, *span.last) for n, span in enumerate(ordered)]
        found = await self._pool.fetch(_AROUND, *_columns(rows, 8), reach)
        by_span = {n: list(group) for n, group in groupby(found, key=lambda row: row["n"])}
        return [[_placed(row, span.conversation) for row in by_span.get(n, ())] for n, span in enumerate(ordered)]

    async def emitting(self, emissions: Collection[Emission]) -> None:
        rows = [(*one.key, one.turn_id, one.agent_id) for one in sorted(emissions, key=lambda one: one.key)]
        if rows:
            await self._pool.execute(_EMITTING, *_columns(rows, 5))

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        rows = [
            (*one.indexed.conversation, one.indexed.message.at, one.indexed.message.message_id, one.evaluation)
            for one in looked_at
        ]
        return bool(rows) and bool(await self._pool.fetchval(_OUTDATED, *_columns(rows, 6)))

    async def ping(self) -> None:
        await self._pool.execute("select 1")


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _placed(row: asyncpg.Record, conversation: ConversationKey) -> Placed:
    message = Message(
        row["message_id"], row["turn_id"], row["sender_id"], row["role"], row["agent_id"], row["text"], row["at"]
    )
    return Placed(
        IndexedMessage(conversation, message, row["said_at"]),
        row["evaluation"],
        row["emitted_turn_id"],
        row["emitted_agent_id"],
    )
