"""PostgreSQL message index. Each step of a batch takes one statement."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import asyncpg

from contracts.message_fields import MESSAGE_KEY, MessageKey
from contracts.provenance import Provenance
from detector.model import NEIGHBOURHOOD, Message
from inference.model import ConversationKey, IndexedMessage, Scope
from inference.sql import SQL
from servicekit.db.database import Database

_OF_MESSAGE: Final = ("turn_id", "sender_id", "role", "agent_id", "text", "reply_to")
_ATTRIBUTES: Final = (
    {name: f"key.{name}" for name in MESSAGE_KEY}
    | {name: f"message.{name}" for name in _OF_MESSAGE}
    | {"about": "provenance.as_json"}
)
"""Attribute path of an indexed message by column name, for columns that are named differently from their attribute."""
_VALUES: Final = SQL.index_messages.reader(other={"guarded_tenant", "guarded_user"}, **_ATTRIBUTES)


class ConversationStore:
    """Message index. The table `messages` must be on the search path of the pool."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Merge messages into the index and commit.

        Args:
            messages: At most one message per key.

        Returns:
            The keys of the messages that were added or changed (see `IndexedMessage.merged`).
        """
        rows = [_VALUES(message) for message in sorted(messages, key=lambda message: message.key)]
        return {MessageKey(*row) for row in await Database.call(self._pool, SQL.index_messages, rows)}

    async def around(self, keys: Collection[MessageKey], after: int) -> Mapping[Scope, Sequence[IndexedMessage]]:
        """Return the messages with these keys, the `NEIGHBOURHOOD` messages before and `after` messages after each.

        Returns:
            The messages in order, by thread or channel. There may be gaps between distant messages. The root message of
            a thread is in the channel and in the thread.
        """
        statement = SQL.messages_around.bulk(sorted(set(keys)), before=NEIGHBOURHOOD, after=after)
        scopes: dict[Scope, list[IndexedMessage]] = {}
        for row in await self._pool.fetch(*statement):
            where = ConversationKey(row["tenant"], row["project"], row["conversation_id"])
            message = _indexed(row, where, row["evaluation"])
            scopes.setdefault(Scope(where, row["scope"]), []).append(message)
        return scopes

    async def find(self, key: MessageKey) -> IndexedMessage | None:
        """Return a message, or None if it is not indexed."""
        row = await self._pool.fetchrow(*SQL.find_message(**key._asdict()))
        return None if row is None else _indexed(row, ConversationKey(*key[:3]))

    async def before(self, scope: Scope, position: bytes, limit: int) -> Sequence[IndexedMessage]:
        """Return up to `limit` messages of a thread or channel before `position` in order, and the thread's root."""
        where = scope.conversation
        statement = SQL.messages_before(**where._asdict(), thread=scope.thread, position=position, limit=limit)
        return [_indexed(row, where) for row in await self._pool.fetch(*statement)]


def _indexed(row: asyncpg.Record, conversation: ConversationKey, evaluation: int = 0) -> IndexedMessage:
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
    return IndexedMessage(
        conversation, message, row["version"], row["position"], provenance, row["user_type"], evaluation
    )
