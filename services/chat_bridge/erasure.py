"""Erasure of people's ids from the message index, and of their words from parked events.

The message index contains no texts of people, only texts of agents.
"""

from __future__ import annotations

from dataclasses import replace

import asyncpg

from chat_bridge.model import ParkedEvent, without_copy
from chat_bridge.sql import SQL
from chat_bridge.store import MessageStore
from contracts.erasure import ErasedAt, author_of, is_erased

_AT_ONCE = 1_000


class ChatBridgeErasures:
    """Erasure of people from the tables of the bridge."""

    def __init__(self, pool: asyncpg.Pool, store: MessageStore) -> None:
        self._pool = pool
        self._store = store

    async def erase(self, erased: ErasedAt) -> int:
        """Delete these people's ids and parked events.

        Also removes the copies of original messages from all other parked events of the people's tenants.

        Returns:
            The number of deleted or changed rows.
        """
        removed = 0
        for tenant, user_id in sorted(erased):
            statement = SQL.blank_senders(tenant=tenant, user_id=user_id, limit=_AT_ONCE)
            while unnamed := int((await self._pool.execute(*statement)).rpartition(" ")[2]):
                removed += unnamed
        for tenant in sorted({person.tenant for person in erased}):
            async for page in self._store.scan_parked(tenant, _AT_ONCE):
                covered = [event.key for event in page if _is_covered(event, erased)]
                await self._store.unpark(covered)
                copies = [without for event in page if (without := _without_copy(event)) is not None]
                await self._store.rewrite([event for event in copies if event.key not in covered])
                removed += len({*covered, *(event.key for event in copies)})
        return removed


def _is_covered(parked: ParkedEvent, erased: ErasedAt) -> bool:
    event = parked.event
    author = author_of(event)
    return author is not None and is_erased(event.occurred_at, erased.get(author), parked.log_time)


def _without_copy(parked: ParkedEvent) -> ParkedEvent | None:
    """Return the event without its copy of the original message, or None if it contains no copy.

    Only version 0.1.0 parked events with copies.
    """
    event = parked.event
    return None if event.original is None else replace(parked, value=without_copy(event))
