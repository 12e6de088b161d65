"""PostgreSQL message index. Each step of a batch takes one statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Final

import asyncpg

from contracts.message_fields import MESSAGE_KEY
from contracts.provenance import Provenance
from detector.model import Message
from inference.sql import SQL
from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Place, Placed
from servicekit import Database, Statements

_OF_MESSAGE: Final = ("turn_id", "sender_id", "role", "agent_id", "text", "at", "reply_to")
_ATTRIBUTES: Final = (
    {name: f"key.{name}" for name in MESSAGE_KEY}
    | {name: f"message.{name}" for name in _OF_MESSAGE}
    | {"about": "provenance.as_json"}
)
"""Attribute path of an indexed message by column name, for columns that are named differently from their attribute."""


class PostgresConversationStore:
    """PostgreSQL implementation of `store.ConversationStore`.

    The table `messages` must be on the search path of the pool.
    """

    def __init__(self, pool: asyncpg.Pool, sql: Statements = SQL) -> None:
        self._pool = pool
        self._index = sql.index_messages
        self._values = self._index.reader(other={"guarded_tenant", "guarded_user"}, **_ATTRIBUTES)

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        rows = [self._values(one) for one in sorted(messages, key=lambda one: one.key)]
        return {MessageKey(*row) for row in await Database.call(self._pool, self._index, rows)}

    async def places(self, keys: Collection[MessageKey]) -> Sequence[Place]:
        found = await self._pool.fetch(*SQL.places_of_messages.bulk(sorted(set(keys))))
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
        found = await self._pool.fetch(*SQL.messages_around.bulk(rows, reach=reach))
        by_number = {n: list(group) for n, group in groupby(found, key=lambda row: row["n"])}
        return [[_placed(row, one.conversation) for row in by_number.get(n, ())] for n, one in enumerate(scopes)]

    async def emitting(self, emissions: Collection[Emission]) -> None:
        rows = [
            (*one.key, one.sender_id, one.turn_id, one.agent_id) for one in sorted(emissions, key=lambda one: one.key)
        ]
        if rows:
            await self._pool.execute(*SQL.note_emissions.bulk(rows))

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        rows = sorted({(*one.indexed.conversation, one.evaluation) for one in looked_at})
        return bool(rows) and bool(await self._pool.fetchval(*SQL.is_outdated.bulk(rows)))


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
    provenance = Provenance.from_json(row["about"])
    stood = tuple(row["stood_at"]), tuple(row["stood_in"])
    return IndexedMessage(conversation, message, row["version"], provenance, row["user_type"], *stood)


def _placed(row: asyncpg.Record, conversation: ConversationKey) -> Placed:
    emitted = row["emitted_turn_id"], row["emitted_agent_id"]
    return Placed(_indexed(row, conversation), row["evaluation"], *emitted, row["epoch"])
