"""Index of conversations in PostgreSQL, with one statement per step and batch."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any, Final

import asyncpg

from contracts.provenance import NO_PROVENANCE, Provenance
from detector.model import Message
from inference.store import PLACES_KEPT, ConversationKey, Emission, IndexedMessage, MessageKey, Place, Placed
from servicekit.db.statements import columns_of

_KEY: Final = "tenant, project, conversation_id, message_id"
_SAID: Final = ("turn_id", "sender_id", "role", "agent_id", "text", "about", "user_type")
_LATER: Final = "excluded.version > m.version"
_EARLIER: Final = "excluded.at < m.at"
_ELSEWHERE: Final = 'excluded.thread collate "C" > m.thread collate "C"'
_REPLIES: Final = """(excluded.reply_to is not null and (m.reply_to is null
    or excluded.reply_to collate "C" > m.reply_to collate "C"))"""
_HELD_SAID: Final = ", ".join(f"m.{name}" for name in _SAID)
_NEW_SAID: Final = ", ".join(f"excluded.{name}" for name in _SAID)
_INDEX: Final = f"""
insert into messages as m ({_KEY}, {", ".join(_SAID)}, at, version, reply_to, thread)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bytea[], $14::text[], $15::text[])
on conflict ({_KEY}) do update set
    {", ".join(f"{name} = case when {_LATER} then excluded.{name} else m.{name} end" for name in _SAID)},
    at = least(m.at, excluded.at), version = greatest(m.version, excluded.version),
    stood_at = case when {_EARLIER} then (m.at || m.stood_at)[1:{PLACES_KEPT}] else m.stood_at end,
    thread = case when {_ELSEWHERE} then excluded.thread else m.thread end,
    stood_in = case when {_ELSEWHERE} then (m.thread || m.stood_in)[1:{PLACES_KEPT}] else m.stood_in end,
    reply_to = case when {_REPLIES} then excluded.reply_to else m.reply_to end,
    versions = m.versions + case when {_EARLIER} or {_ELSEWHERE} or {_REPLIES}
        or ({_LATER} and ({_NEW_SAID}) is distinct from ({_HELD_SAID})) then 1 else 0 end
where {_EARLIER} or {_LATER} or {_ELSEWHERE} or {_REPLIES}
returning {_KEY}
"""
_ROW: Final = f"""m.message_id, m.at, m.version, m.stood_at, m.emitted_turn_id, m.emitted_agent_id,
    m.reply_to, m.thread, m.stood_in, {_HELD_SAID}"""
_IN: Final = "m.tenant = s.tenant and m.project = s.project and m.conversation_id = s.conversation_id"
_IN_THREAD: Final = f"{_IN} and hashtextextended(m.thread, 0) = hashtextextended(p.thread, 0) and m.thread = p.thread"
_ENDLESS: Final = 2**63 - 1
EPOCH: Final = "select coalesce(max(epoch), 0) from rejudgements"
"""Epoch of new verdicts."""
# One row per conversation, and all else lateral to it: a join of two common table expressions has no index, so the work
# would grow with the square of their rows. Messages are read between each place and the next, none for two places.
_AROUND: Final = f"""
with conversations as (
    select tenant, project, conversation_id, array_agg(n) as numbers, array_agg(thread) as threads,
        array_agg(at) as times, array_agg(message_id) as messages
    from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
        as p (n, tenant, project, conversation_id, at, message_id, thread)
    group by tenant, project, conversation_id
)
select found.*, known.evaluation, ({EPOCH}) as epoch
from conversations s, lateral (
    select sum(m.versions)::bigint as evaluation from messages m where {_IN}
) known, lateral (
    select distinct on (n, at, message_id) * from (
        select p.n, near.* from (
            select *, lag(at, 1, -1::bigint) over w as before_at, lag(message_id, 1, '') over w as before_id,
                lead(at, 1, {_ENDLESS}) over w as after_at, lead(message_id, 1, '') over w as after_id
            from unnest(s.numbers, s.threads, s.times, s.messages) as p (n, thread, at, message_id)
            window w as (partition by n order by at, message_id)
        ) p, lateral (
            (select {_ROW} from messages m where {_IN_THREAD} and (m.at, m.message_id) < (p.at, p.message_id)
                and (m.at, m.message_id) > (p.before_at, p.before_id)
             order by m.at desc, m.message_id desc limit $8)
            union all
            (select {_ROW} from messages m where {_IN_THREAD} and (m.at, m.message_id) >= (p.at, p.message_id)
                and (m.at, m.message_id) < (p.after_at, p.after_id)
             order by m.at, m.message_id limit $8 + 1)
        ) near
        union all
        select t.n, root.* from (select distinct * from unnest(s.numbers, s.threads)) as t (n, thread), lateral (
            select {_ROW} from messages m
            where {_IN} and m.message_id = t.thread and m.thread <> t.thread limit 1
        ) root where t.thread <> ''
    ) said order by n, at, message_id
) found
order by n, at, message_id
"""
_PLACES: Final = f"""
select {_KEY}, m.at || m.stood_at as places, m.thread || m.stood_in || case when exists (
    select from messages o where o.tenant = m.tenant and o.project = m.project
        and o.conversation_id = m.conversation_id and o.thread = m.message_id
        and hashtextextended(o.thread, 0) = hashtextextended(m.message_id, 0)
    ) then array[m.message_id] else '{{}}' end as threads
from messages m join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as wanted ({_KEY}) using ({_KEY})
"""
_EMITTING: Final = f"""
update messages m set emitted_turn_id = e.turn_id, emitted_agent_id = e.agent_id
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    as e ({_KEY}, sender_id, turn_id, agent_id)
where m.tenant = e.tenant and m.project = e.project and m.conversation_id = e.conversation_id
  and m.message_id = e.message_id and m.sender_id = e.sender_id
  and (m.emitted_turn_id, m.emitted_agent_id) is distinct from (e.turn_id, e.agent_id)
"""
_OUTDATED: Final = f"""
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
        rows = [_values(one) for one in sorted(messages, key=lambda one: one.key)]
        return {MessageKey(*row) for row in await self._pool.fetch(_INDEX, *columns_of(rows, 15))}

    async def places(self, keys: Collection[MessageKey]) -> Sequence[Place]:
        found = await self._pool.fetch(_PLACES, *columns_of(sorted(set(keys)), 4))
        return [
            Place(ConversationKey(tenant, project, conversation), at, message, thread)
            for tenant, project, conversation, message, places, threads in found
            for thread in dict.fromkeys(threads)
            for at in dict.fromkeys(places)
        ]

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        scopes = sorted({place.scope for place in places})
        numbers = {scope: n for n, scope in enumerate(scopes)}
        rows = [(numbers[place.scope], *place.conversation, *place[1:]) for place in sorted(set(places))]
        found = await self._pool.fetch(_AROUND, *columns_of(rows, 7), reach)
        by_number = {n: list(group) for n, group in groupby(found, key=lambda row: row["n"])}
        return [[_placed(row, one.conversation) for row in by_number.get(n, ())] for n, one in enumerate(scopes)]

    async def emitting(self, emissions: Collection[Emission]) -> None:
        rows = [
            (*one.key, one.sender_id, one.turn_id, one.agent_id) for one in sorted(emissions, key=lambda one: one.key)
        ]
        if rows:
            await self._pool.execute(_EMITTING, *columns_of(rows, 7))

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        rows = sorted({(*one.indexed.conversation, one.evaluation) for one in looked_at})
        return bool(rows) and bool(await self._pool.fetchval(_OUTDATED, *columns_of(rows, 4)))


def _values(indexed: IndexedMessage) -> tuple[Any, ...]:
    message = indexed.message
    said = (message.turn_id, message.sender_id, message.role, message.agent_id, message.text)
    about = None if indexed.provenance == NO_PROVENANCE else json.dumps(indexed.provenance.fields())
    return (
        *indexed.key,
        *said,
        about,
        indexed.user_type,
        message.at,
        indexed.version,
        message.reply_to,
        indexed.thread,
    )


def _indexed(row: asyncpg.Record, conversation: ConversationKey) -> IndexedMessage:
    message = Message(
        message_id=row["message_id"],
        turn_id=row["turn_id"],
        sender_id=row["sender_id"],
        role=row["role"],
        agent_id=row["agent_id"],
        text=row["text"],
        at=row["at"],
        reply_to=row["reply_to"],
        thread_id=row["thread"] or None,
    )
    about = row["about"]
    provenance = NO_PROVENANCE if about is None else Provenance(**json.loads(about))
    stood = tuple(row["stood_at"]), tuple(row["stood_in"])
    return IndexedMessage(conversation, message, row["version"], provenance, row["user_type"], *stood)


def _placed(row: asyncpg.Record, conversation: ConversationKey) -> Placed:
    emitted = row["emitted_turn_id"], row["emitted_agent_id"]
    return Placed(_indexed(row, conversation), row["evaluation"], *emitted, row["epoch"])
