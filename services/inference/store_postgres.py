"""The index of conversations in PostgreSQL: one statement per step and batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

import asyncpg

from inference.model import Message
from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Placed, Span

_LATER = """((excluded.said_at, excluded.text collate "C", excluded.turn_id collate "C", excluded.sender_id collate "C",
         excluded.role collate "C", coalesce(excluded.agent_id, '') collate "C")
        > (m.said_at, m.text collate "C", m.turn_id collate "C", m.sender_id collate "C", m.role collate "C",
           coalesce(m.agent_id, '') collate "C"))"""
_INDEX = f"""
insert into messages as m
    (tenant, project, message_id, conversation_id, turn_id, sender_id, role, agent_id, text, at, said_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::text[], $10::bigint[], $11::bigint[])
on conflict (tenant, project, message_id) do update set
    turn_id = case when {_LATER} then excluded.turn_id else m.turn_id end,
    text = case when {_LATER} then excluded.text else m.text end,
    sender_id = case when {_LATER} then excluded.sender_id else m.sender_id end,
    role = case when {_LATER} then excluded.role else m.role end,
    agent_id = case when {_LATER} then excluded.agent_id else m.agent_id end,
    at = least(m.at, excluded.at), said_at = greatest(m.said_at, excluded.said_at),
    versions = m.versions + case when excluded.at < m.at
        or (excluded.text, excluded.turn_id, excluded.sender_id, excluded.role, excluded.agent_id)
            is distinct from (m.text, m.turn_id, m.sender_id, m.role, m.agent_id) then 1 else 0 end
where excluded.at < m.at or {_LATER}
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
), known as (
    select s.n, sum(m.versions)::bigint as evaluation from spans s join messages m on {_IN} group by s.n
)
select * from rows join known using (n) order by n, at, message_id
"""
_PLACED = """
select m.* from messages m
join unnest($1::text[], $2::text[], $3::text[]) as wanted (tenant, project, message_id)
using (tenant, project, message_id)
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
    select from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
        as s (tenant, project, conversation_id, evaluation)
    where s.evaluation < (select sum(m.versions) from messages m where {_IN})
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

    async def placed(self, keys: Collection[MessageKey]) -> Sequence[IndexedMessage]:
        found = await self._pool.fetch(_PLACED, *_columns(sorted(set(keys)), 3))
        return [
            IndexedMessage(
                ConversationKey(row["tenant"], row["project"], row["conversation_id"]), _message(row), row["said_at"]
            )
            for row in found
        ]

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
        rows = sorted({(*one.indexed.conversation, one.evaluation) for one in looked_at})
        return bool(rows) and bool(await self._pool.fetchval(_OUTDATED, *_columns(rows, 4)))

    async def ping(self) -> None:
        await self._pool.execute("select 1")


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _message(row: asyncpg.Record) -> Message:
    return Message(
        row["message_id"], row["turn_id"], row["sender_id"], row["role"], row["agent_id"], row["text"], row["at"]
    )


def _placed(row: asyncpg.Record, conversation: ConversationKey) -> Placed:
    return Placed(
        IndexedMessage(conversation, _message(row), row["said_at"]),
        row["evaluation"],
        row["emitted_turn_id"],
        row["emitted_agent_id"],
    )
