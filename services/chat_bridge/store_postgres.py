"""The bridge's store in PostgreSQL: one statement per step and batch."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import asyncpg

from chat_bridge.model import IndexedMessage, MessageKey, ParkedEvent, ParkedKey
from contracts.provenance import NOTHING_TOLD, Provenance

_INDEX = """
insert into messages as m
    (tenant, project, message_id, conversation_id, turn_id, sender_id, sender_type, agent_id, content, truncated, about,
     occurred_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::text[], $10::bool[], $11::text[], $12::bigint[])
on conflict (tenant, project, message_id) do update set
    conversation_id = excluded.conversation_id, turn_id = excluded.turn_id, sender_id = excluded.sender_id,
    sender_type = excluded.sender_type, agent_id = excluded.agent_id, content = excluded.content,
    truncated = excluded.truncated, about = excluded.about, occurred_at = excluded.occurred_at,
    repeated = (m.conversation_id, m.turn_id, m.sender_id, m.sender_type, m.agent_id, m.content, m.about)
        is not distinct from (excluded.conversation_id, excluded.turn_id, excluded.sender_id, excluded.sender_type,
                              excluded.agent_id, excluded.content, excluded.about)
where excluded.occurred_at > m.occurred_at
returning tenant, project, message_id, repeated
"""
_MESSAGE = """m.tenant, m.project, m.message_id, m.conversation_id, m.turn_id, m.sender_id, m.sender_type, m.agent_id,
    m.content, m.truncated, m.about, m.occurred_at"""
_FIND = f"""
select {_MESSAGE} from messages m
join unnest($1::text[], $2::text[], $3::text[]) as wanted (tenant, project, message_id)
using (tenant, project, message_id)
"""
_PARK = """
with wanted as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[],
                         $8::text[], $9::text[], $10::bigint[], $11::bigint[])
        as p (tenant, project, topic, event_id, original_message_id, record_key, value, cause, traceparent, log_time,
              parked_at)
), added as (
    insert into parked select * from wanted on conflict do nothing returning tenant, project, topic, event_id, cause
)
select tenant, project, topic, event_id, cause from added
union
select p.tenant, p.project, p.topic, p.event_id, p.cause from parked p
join wanted using (tenant, project, topic, event_id)
"""
_PARKED_UNDER = """
select tenant, project, topic, event_id, cause from parked
join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as wanted (tenant, project, topic, event_id)
using (tenant, project, topic, event_id)
"""
_PARKED = """p.tenant, p.project, p.topic, p.event_id, p.original_message_id, p.record_key, p.value, p.cause,
    p.traceparent, p.log_time, p.parked_at"""
_JOINED = f"""
select {_PARKED}, m.conversation_id, m.turn_id, m.sender_id, m.sender_type, m.agent_id, m.content, m.truncated, m.about,
    m.occurred_at
from parked p join messages m
    on m.tenant = p.tenant and m.project = p.project and m.message_id = p.original_message_id
"""
_RELEASED_BY = f"""
{_JOINED}
where (p.tenant, p.project, p.original_message_id) in (select * from unnest($1::text[], $2::text[], $3::text[]))
order by p.log_time, p.cause
"""


class PostgresStore:
    """See `store.Store`. The pool's connections see the tables `messages` and `parked`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        rows = [
            (
                *message.key,
                message.conversation_id,
                message.turn_id,
                message.sender_id,
                message.sender_type,
                message.agent_id,
                message.content,
                message.truncated,
                None if message.provenance is NOTHING_TOLD else json.dumps(message.provenance.fields()),
                message.occurred_at,
            )
            for message in sorted(messages, key=lambda message: message.key)
        ]
        written = await self._pool.fetch(_INDEX, *_columns(rows, 12))
        return {MessageKey(row["tenant"], row["project"], row["message_id"]) for row in written if not row["repeated"]}

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        if not keys:
            return {}
        found = (_message(row) for row in await self._pool.fetch(_FIND, *_columns(sorted(set(keys)), 3)))
        return {message.key: message for message in found}

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        rows = [
            (
                *event.key,
                event.original_message_id,
                event.record_key,
                event.value,
                event.cause,
                event.traceparent,
                event.log_time,
                event.parked_at,
            )
            for event in sorted(events, key=lambda event: event.key)
        ]
        found = await self._pool.fetch(_PARK, *_columns(rows, 11))
        return {ParkedKey(row["tenant"], row["project"], row["topic"], row["event_id"]): row["cause"] for row in found}

    async def parked_under(self, keys: Collection[ParkedKey]) -> Mapping[ParkedKey, str]:
        found = await self._pool.fetch(_PARKED_UNDER, *_columns(sorted(set(keys)), 4))
        return {ParkedKey(row["tenant"], row["project"], row["topic"], row["event_id"]): row["cause"] for row in found}

    async def parked_by_tenant(self, tenants: Collection[str]) -> Mapping[str, int]:
        rows = await self._pool.fetch(
            "select tenant, count(*) as n from parked where tenant = any($1) group by tenant", list(tenants)
        )
        return {row["tenant"]: row["n"] for row in rows}

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        if not keys or not await self._pool.fetchval("select exists (select from parked)"):
            return []
        return [_pair(row) for row in await self._pool.fetch(_RELEASED_BY, *_columns(sorted(set(keys)), 3))]

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        return [_pair(row) for row in await self._pool.fetch(f"{_JOINED} order by p.log_time limit $1", limit)]

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        query = f"select {_PARKED} from parked p where p.parked_at < $1 order by p.parked_at limit $2"
        return [_parked(row) for row in await self._pool.fetch(query, before, limit)]

    async def waited_for(self, after: MessageKey, limit: int) -> Sequence[MessageKey]:
        query = """
            select distinct tenant, project, original_message_id from parked
            where (tenant, project, original_message_id) > ($1, $2, $3) order by 1, 2, 3 limit $4
        """
        return [MessageKey(*row) for row in await self._pool.fetch(query, *after, limit)]

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        await self._pool.execute(
            "delete from parked where (tenant, project, topic, event_id) in "
            "(select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]))",
            *_columns(sorted(set(keys)), 4),
        )

    async def parked(self) -> int:
        return int(await self._pool.fetchval("select count(*) from parked"))

    async def ping(self) -> None:
        await self._pool.execute("select 1")


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _message(row: asyncpg.Record, message_id: str | None = None) -> IndexedMessage:
    about = row["about"]
    return IndexedMessage(
        key=MessageKey(row["tenant"], row["project"], message_id or row["message_id"]),
        conversation_id=row["conversation_id"],
        turn_id=row["turn_id"],
        sender_id=row["sender_id"],
        sender_type=row["sender_type"],
        agent_id=row["agent_id"],
        content=row["content"],
        truncated=row["truncated"],
        provenance=NOTHING_TOLD if about is None else Provenance(**json.loads(about)),
        occurred_at=row["occurred_at"],
    )


def _parked(row: asyncpg.Record) -> ParkedEvent:
    return ParkedEvent(
        key=ParkedKey(row["tenant"], row["project"], row["topic"], row["event_id"]),
        original_message_id=row["original_message_id"],
        record_key=row["record_key"],
        value=row["value"],
        cause=row["cause"],
        traceparent=row["traceparent"],
        log_time=row["log_time"],
        parked_at=row["parked_at"],
    )


def _pair(row: asyncpg.Record) -> tuple[ParkedEvent, IndexedMessage]:
    parked = _parked(row)
    return parked, _message(row, parked.original_message_id)
