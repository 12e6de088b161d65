"""Repeated requests for the originals of parked events.

The message source may have been down at the first request.
"""

from __future__ import annotations

from chat_bridge.message_source import MessageSource
from chat_bridge.model import MessageKey, indexed
from chat_bridge.store import MessageStore
from contracts.versions import COPY

KEYS_AT_ONCE = 100
BEGINNING = MessageKey("", "", "", "")


class MissingOriginals:
    """Periodic task that fetches missing originals from the source and indexes them.

    The next sweep (`parking.py`) releases the events that waited for them.
    """

    def __init__(self, store: MessageStore, source: MessageSource) -> None:
        self._store = store
        self._source = source
        self._after = BEGINNING

    async def fetch_next(self) -> None:
        """Request the next hundred missing originals, in the order of their keys. After the last one, start again."""
        keys = await self._store.waited_for(self._after, KEYS_AT_ONCE)
        self._after = keys[-1] if len(keys) == KEYS_AT_ONCE else BEGINNING
        found = await self._source.fetch(keys)
        await self._store.index([indexed(copy, key.tenant, key.project, COPY) for key, copy in found.items()])
