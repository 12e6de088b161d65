"""Periodic task that fetches the original messages for which parked replies and reactions wait.

The message source may have been down when a reply or reaction arrived.
"""

from __future__ import annotations

from chat_bridge.message_source import MessageSource
from chat_bridge.model import MessageKey, indexed
from chat_bridge.store import MessageStore
from contracts.versions import COPY

KEYS_AT_ONCE = 100
BEGINNING = MessageKey("", "", "", "")


class MissingOriginals:
    """Periodic task that fetches missing original messages from the source and indexes them.

    The next sweep (`parking.py`) forwards the replies and reactions that waited for them.
    """

    def __init__(self, store: MessageStore, source: MessageSource) -> None:
        self._store = store
        self._source = source
        self._after = BEGINNING

    async def fetch_next(self) -> None:
        """Fetch the next hundred missing messages in key order, starting over after the last one."""
        keys = await self._store.waited_for(self._after, KEYS_AT_ONCE)
        self._after = keys[-1] if len(keys) == KEYS_AT_ONCE else BEGINNING
        found = await self._source.fetch(keys)
        await self._store.index([indexed(copy, key.tenant, key.project, COPY) for key, copy in found.items()])
