"""Asks the message source again for originals that parked events wait for: it may have been away the first time."""

from __future__ import annotations

from chat_bridge.model import MessageKey, indexed
from chat_bridge.source import MessageSource
from chat_bridge.store import Store
from contracts.versions import COPY

KEYS_AT_ONCE = 100
BEGINNING = MessageKey("", "", "", "")


class AskAgain:
    """Adds the messages fetched from the source to the index; the sweep then releases the events parked for them."""

    def __init__(self, store: Store, source: MessageSource) -> None:
        self._store = store
        self._source = source
        self._after = BEGINNING

    async def ask(self) -> None:
        """Ask for the next hundred originals; from the beginning again once all have had their turn."""
        keys = await self._store.waited_for(self._after, KEYS_AT_ONCE)
        self._after = keys[-1] if len(keys) == KEYS_AT_ONCE else BEGINNING
        found = await self._source.fetch(keys)
        await self._store.index([indexed(copy, key.tenant, key.project, COPY) for key, copy in found.items()])
