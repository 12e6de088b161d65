"""Erasure of people's words from parked events. The message index contains neither texts nor ids of people."""

from __future__ import annotations

from chat_bridge.model import ParkedEvent
from chat_bridge.store import MessageStore
from contracts.erasure import ErasedAt, author_of, is_erased

_AT_ONCE = 1_000


class ChatBridgeErasures:
    """Erasure of people from the tables of the bridge."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    async def erase(self, erased: ErasedAt) -> int:
        """Delete these people's parked events, and return the number of deleted rows."""
        removed = 0
        for tenant in sorted({person.tenant for person in erased}):
            async for page in self._store.scan_parked(tenant, _AT_ONCE):
                covered = [event.key for event in page if _is_covered(event, erased)]
                await self._store.unpark(covered)
                removed += len(covered)
        return removed


def _is_covered(parked: ParkedEvent, erased: ErasedAt) -> bool:
    event = parked.event
    author = author_of(event)
    return author is not None and is_erased(event.occurred_at, erased.get(author), parked.log_time)
