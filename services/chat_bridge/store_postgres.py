"""The bridge's store in PostgreSQL. Each step of a batch is one statement."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace

import asyncpg

from chat_bridge.model import IndexedMessage, MessageKey, ParkedEvent, ParkedKey
from contracts.provenance import NO_PROVENANCE, Provenance
from servicekit.db.pools import columns_of

_INDEX = """
insert into messages as m
    (tenant, project, conversation_id, message_id, turn_id, sender_id, sender_type, agent_id, content, truncated, about,
     version, reply_to, thread)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::text[], $10::bool[], $11::text[], $12::bytea[], $13::text[], $14::text[])
on conflict (tenant, project, conversation_id, message_id) do update set
    turn_id = excluded.turn_id, sender_id = excluded.sender_id, sender_type = excluded.sender_type,
    agent_id = excluded.agent_id, content = excluded.content, truncated = excluded.truncated, about = excluded.about,
    version = excluded.version, reply_to = excluded.reply_to, thread = excluded.thread,
    repeated = (m.turn_id, m.sender_id, m.sender_type, m.agent_id, m.content, m.about, get_byte(m.version, 0))
        is not distinct from (excluded.turn_id, excluded.sender_id, excluded.sender_type, excluded.agent_id,
                              excluded.content, excluded.about, get_byte(excluded.version, 0))
where excluded.version > m.version
returning tenant, project, conversation_id, message_id, repeated
"""
# The message that an answer replies to, if a person's, else the first person's message of its turn.
_QUESTION = """case when m.sender_type = 'agent' then coalesce(
    (select q.message_id from messages q where q.message_id = m.reply_to and q.conversation_id = m.conversation_id
        and q.tenant = m.tenant and q.project = m.project and q.sender_type <> 'agent'),
    (select q.message_id from messages q where q.turn_id = m.turn_id and q.conversation_id = m.conversation_id
        and q.tenant = m.tenant and q.project = m.project and q.sender_type <> 'agent'
     order by q.version, q.message_id limit 1)) end as question"""
_FIND = f"""
select m.*, {_QUESTION} from messages m
join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as wanted (tenant, project, conversation_id, message_id)
using (tenant, project, conversation_id, message_id)
"""
_PLACED = f"""
select m.thread, {_QUESTION} from (
    select w.tenant, w.project, w.conversation_id, held.reply_to, held.thread, w.position,
           coalesce(held.turn_id, w.turn_id) as turn_id, coalesce(held.sender_type, w.sender_type) as sender_type
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) with ordinality
        as w (tenant, project, conversation_id, message_id, turn_id, sender_type, position)
    left join messages held using (tenant, project, conversation_id, message_id)
) m order by m.position
"""
_PARK = """
with wanted as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[],
                         $8::bytea[], $9::text[], $10::text[], $11::bigint[], $12::bigint[])
        as p (tenant, project, topic, event_id, conversation_id, original_message_id, record_key, value, cause,
              traceparent, log_time, parked_at)
), added as (
    insert into parked (tenant, project, topic, event_id, conversation_id, original_message_id, record_key, value,
                        cause, traceparent, log_time, parked_at)
    select * from wanted on conflict do nothing returning tenant, project, topic, event_id, cause
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
_PARKED = """p.tenant, p.project, p.topic, p.event_id, p.conversation_id, p.original_message_id, p.record_key, p.value,
    p.cause, p.traceparent, p.log_time, p.parked_at"""
_JOINED = f"""
select {_PARKED}, m.message_id, m.turn_id, m.sender_id, m.sender_type, m.agent_id, m.content, m.truncated, m.about,
    m.version, m.reply_to, m.thread, {_QUESTION}
from parked p join messages m on m.tenant = p.tenant and m.project = p.project
    and m.conversation_id = p.conversation_id and m.message_id = p.original_message_id
"""
_SCAN_PARKED = f"""
select {_PARKED} from parked p
where p.tenant = $1 and (p.project, p.topic, p.event_id) > ($2, $3, $4)
order by p.project, p.topic, p.event_id limit $5
"""
_RELEASED_BY = f"""
{_JOINED}
where (p.tenant, p.project, p.conversation_id, p.original_message_id)
    in (select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]))
order by p.log_time, p.cause
"""
_REWRITE = """
update parked p set value = rewritten.value
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
    as rewritten (tenant, project, topic, event_id, value)
where (p.tenant, p.project, p.topic, p.event_id)
    = (rewritten.tenant, rewritten.project, rewritten.topic, rewritten.event_id)
"""
_WAITED_FOR = """
select distinct tenant, project, conversation_id, original_message_id from parked
where (tenant, project, conversation_id, original_message_id) > ($1, $2, $3, $4) order by 1, 2, 3, 4 limit $5
"""


class PostgresStore:
    """See `store.Store`. Needs the tables `messages` and `parked` on the pool's search path."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        rows = [
            (
                *message.key,
                message.turn_id,
                message.sender_id,
                message.sender_type,
                message.agent_id,
                message.content,
                message.truncated,
                None if message.provenance is NO_PROVENANCE else json.dumps(message.provenance.fields()),
                message.version,
                message.reply_to,
                message.thread_id,
            )
            for message in sorted(messages, key=lambda message: message.key)
        ]
        written = await self._pool.fetch(_INDEX, *columns_of(rows, 14))
        return {MessageKey(*row[:4]) for row in written if not row["repeated"]}

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        if not keys:
            return {}
        found = (_message(row) for row in await self._pool.fetch(_FIND, *columns_of(sorted(set(keys)), 4)))
        return {message.key: message for message in found}

    async def placed(self, copies: Sequence[IndexedMessage]) -> Sequence[IndexedMessage]:
        wanted = [(*copy.key, copy.turn_id, copy.sender_type) for copy in copies]
        found = await self._pool.fetch(_PLACED, *columns_of(wanted, 6))
        return [
            replace(copy, question_message_id=row["question"], thread_id=row["thread"])
            for copy, row in zip(copies, found, strict=True)
        ]

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        rows = [
            (
                *event.key,
                event.original.conversation_id,
                event.original.message_id,
                event.record_key,
                event.value,
                event.cause,
                event.traceparent,
                event.log_time,
                event.parked_at,
            )
            for event in sorted(events, key=lambda event: event.key)
        ]
        found = await self._pool.fetch(_PARK, *columns_of(rows, 12))
        return {_parked_key(row): row["cause"] for row in found}

    async def parked_under(self, keys: Collection[ParkedKey]) -> Mapping[ParkedKey, str]:
        found = await self._pool.fetch(_PARKED_UNDER, *columns_of(sorted(set(keys)), 4))
        return {_parked_key(row): row["cause"] for row in found}

    async def parked_by_tenant(self, tenants: Collection[str]) -> Mapping[str, int]:
        rows = await self._pool.fetch(
            "select tenant, count(*) as n from parked where tenant = any($1) group by tenant", list(tenants)
        )
        return {row["tenant"]: row["n"] for row in rows}

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        if not keys or not await self._pool.fetchval("select exists (select from parked)"):
            return []
        return [_pair(row) for row in await self._pool.fetch(_RELEASED_BY, *columns_of(sorted(set(keys)), 4))]

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        return [_pair(row) for row in await self._pool.fetch(f"{_JOINED} order by p.log_time limit $1", limit)]

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        query = f"select {_PARKED} from parked p where p.parked_at < $1 order by p.parked_at limit $2"
        return [_parked(row) for row in await self._pool.fetch(query, before, limit)]

    async def waited_for(self, after: MessageKey, limit: int) -> Sequence[MessageKey]:
        return [MessageKey(*row) for row in await self._pool.fetch(_WAITED_FOR, *after, limit)]

    async def scan_parked(self, tenant: str, batch: int) -> AsyncIterator[Sequence[ParkedEvent]]:
        last = ParkedKey(tenant, "", "", "")
        while rows := await self._pool.fetch(_SCAN_PARKED, *last, batch):
            page = [_parked(row) for row in rows]
            last = page[-1].key
            yield page

    async def rewrite(self, events: Collection[ParkedEvent]) -> None:
        if events:
            rows = sorted((*event.key, event.value) for event in events)
            await self._pool.execute(_REWRITE, *columns_of(rows, 5))

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        await self._pool.execute(
            "delete from parked where (tenant, project, topic, event_id) in "
            "(select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]))",
            *columns_of(sorted(set(keys)), 4),
        )

    async def parked(self) -> int:
        return int(await self._pool.fetchval("select count(*) from parked"))


def _message(row: asyncpg.Record) -> IndexedMessage:
    about = row["about"]
    return IndexedMessage(
        key=MessageKey(row["tenant"], row["project"], row["conversation_id"], row["message_id"]),
        turn_id=row["turn_id"],
        sender_id=row["sender_id"],
        sender_type=row["sender_type"],
        agent_id=row["agent_id"],
        content=row["content"],
        truncated=row["truncated"],
        provenance=NO_PROVENANCE if about is None else Provenance(**json.loads(about)),
        version=row["version"],
        reply_to=row["reply_to"],
        thread_id=row["thread"],
        question_message_id=row["question"],
    )


def _parked_key(row: asyncpg.Record) -> ParkedKey:
    # The column keeps the name of version 0.1.0, since processes of both versions use it.
    return ParkedKey(row["tenant"], row["project"], row["topic"], row["event_id"])


def _parked(row: asyncpg.Record) -> ParkedEvent:
    return ParkedEvent(
        key=_parked_key(row),
        original=MessageKey(row["tenant"], row["project"], row["conversation_id"], row["original_message_id"]),
        record_key=row["record_key"],
        value=row["value"],
        cause=row["cause"],
        traceparent=row["traceparent"],
        log_time=row["log_time"],
        parked_at=row["parked_at"],
    )


def _pair(row: asyncpg.Record) -> tuple[ParkedEvent, IndexedMessage]:
    return _parked(row), _message(row)
