"""The bridge's database in PostgreSQL. Each step of a batch takes one statement."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import asyncpg

from chat_bridge.model import IndexedMessage, ParkedEvent, ParkedKey
from chat_bridge.sql import SQL
from contracts.chat import ChatMessageReactionIngested
from contracts.erasure import ERASURE_MARGIN, ErasedAt
from contracts.exchange import ExchangeMessage, Position
from contracts.message_fields import MESSAGE_KEY, MessageKey
from contracts.provenance import Provenance
from servicekit.db.database import Database

_ATTRIBUTES: Final = {
    **{name: f"key.{name}" for name in MESSAGE_KEY},
    "about": "provenance.as_json",
    "thread": "thread_id",
    "at": "position.at",
    "sequence": "position.sequence",
    "first_log_time": "position.log_time",
    "log_offset": "position.log_offset",
}
"""Attribute path of a message by column name, for columns whose name differs from the attribute's."""
_PARKED_ATTRIBUTES: Final = {
    **{name: f"key.{name}" for name in ParkedKey._fields},
    "conversation_id": "original.conversation_id",
    "original_message_id": "original.message_id",
}
"""Attribute path of a parked event by column name."""

_COPIED: Final = (
    "turn_id",
    "sender_id",
    "sender_type",
    "agent_id",
    "content",
    "truncated",
    "version",
    "reply_to",
    "has_text",
)
_PARKED_COPIED: Final = ("record_key", "value", "cause", "traceparent", "user_id", "said_at", "log_time", "parked_at")
"""Attributes of a message and of a parked event that are columns of the same name."""
_GUARD: Final = ("guarded_tenant", "guarded_user")
_MESSAGE_VALUES: Final = SQL.index_messages.reader(other=_GUARD, **_ATTRIBUTES)
_PARKED_VALUES: Final = SQL.park.reader(other=(*_GUARD, "most_bytes"), **_PARKED_ATTRIBUTES)


class MessageStore:
    """Message index and parked events. Needs the tables `messages` and `parked` on the pool's search path.

    Args:
        parked_bytes: Maximum size of a tenant's parked events in bytes.
    """

    def __init__(self, pool: asyncpg.Pool, parked_bytes: int = 100_000_000) -> None:
        self._pool = pool
        self._parked_bytes = parked_bytes

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Store messages, at most one per key, and commit. Only the highest version of a message is kept.

        Returns:
            The keys of the messages that were added or changed.
        """
        rows = [_MESSAGE_VALUES(message) for message in sorted(messages, key=lambda message: message.key)]
        written = await Database.call(self._pool, SQL.index_messages, rows)
        return {MessageKey(*row) for row in written}

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        """Return the stored messages with these keys, by key."""
        if not keys:
            return {}
        rows = await Database.call(self._pool, SQL.find_messages, sorted(set(keys)))
        return {message.key: message for message in map(_message, rows)}

    async def thread_answers(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, MessageKey]:
        """Return the key of the answer before each person's message in a thread, by the key of the person's message.

        A message is included only if the person began the thread, and only this person and one agent have written in it
        before. The answer is the agent's last message before the person's message.
        """
        rows = await self._pool.fetch(*SQL.thread_answers.bulk(sorted(set(keys)))) if keys else []
        return {MessageKey(*row[:4]): MessageKey(row[0], row[1], row[2], row["answer_id"]) for row in rows}

    async def last_answers(self, ratings: Sequence[ChatMessageReactionIngested]) -> Sequence[str | None]:
        """Return the id of the last answer before each rating, or None. A named agent must have given the answer."""
        keys = [
            (rating.tenant, rating.project, rating.conversation_id, rating.agent_id or "", rating.occurred_at)
            for rating in ratings
        ]
        rows = await self._pool.fetch(*SQL.last_answers.bulk(keys)) if keys else []
        return [row["message_id"] for row in rows]

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        """Park events until their original messages arrive, and commit.

        Parked events are not changed. An event is not parked if its tenant's events would then exceed `parked_bytes`.

        Args:
            events: At most one event per key.

        Returns:
            The log position (cause) of the event stored under each key. Keys without a stored event are missing.
        """
        rows = [_PARKED_VALUES(event) for event in sorted(events, key=lambda event: event.key)]
        stored = await Database.call(self._pool, SQL.park, rows, most_bytes=self._parked_bytes)
        return {ParkedKey(*row[:4]): row["cause"] for row in stored}

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return the parked events about these messages, each with its message, sorted by log time.

        Events whose message is not in the index are omitted.
        """
        return [_pair(row) for row in await self._pool.fetch(*SQL.released_by.bulk(sorted(keys)))]

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return at most `limit` parked events whose original messages are known, each with its original."""
        return [_pair(row) for row in await self._pool.fetch(*SQL.releasable(limit=limit))]

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        """Return at most `limit` events that were parked before `before` (microseconds), oldest first."""
        return [_parked(row) for row in await self._pool.fetch(*SQL.expired(before=before, limit=limit))]

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        """Delete parked events. Unknown keys are ignored."""
        await self._pool.execute(*SQL.unpark.bulk(sorted(set(keys))))

    async def parked(self) -> int:
        """Return the number of parked events."""
        return int(await self._pool.fetchval(*SQL.count_parked()))

    async def erase(self, erased: ErasedAt) -> int:
        """Delete the parked events of erased people, and return their number.

        The message index contains neither texts nor ids of people.
        """
        rows = [(*person, erased_at + ERASURE_MARGIN) for person, erased_at in erased.items()]
        return int((await self._pool.execute(*SQL.erase_parked.bulk(rows))).rpartition(" ")[2])


def _message(row: asyncpg.Record) -> IndexedMessage:
    return IndexedMessage(
        MessageKey(row["tenant"], row["project"], row["conversation_id"], row["message_id"]),
        **{name: row[name] for name in _COPIED},
        provenance=Provenance.from_json(row["about"]),
        thread_id=row["thread"],
        position=Position(row["at"], row["sequence"], row["first_log_time"], row["log_offset"]),
    ).answering(_candidates(row))


def _candidates(row: asyncpg.Record) -> list[ExchangeMessage]:
    candidates = json.loads(row["candidates"]) if row["candidates"] else []
    return [
        ExchangeMessage(message_id, turn_id, thread or "", "", True, True, Position(*position))
        for message_id, turn_id, thread, *position in candidates
    ]


def _parked(row: asyncpg.Record) -> ParkedEvent:
    return ParkedEvent(
        ParkedKey(row["tenant"], row["project"], row["topic"], row["identity"]),
        MessageKey(row["tenant"], row["project"], row["conversation_id"], row["original_message_id"]),
        **{name: row[name] for name in _PARKED_COPIED},
    )


def _pair(row: asyncpg.Record) -> tuple[ParkedEvent, IndexedMessage]:
    return _parked(row), _message(row)
