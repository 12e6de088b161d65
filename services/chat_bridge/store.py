"""Port of the bridge's database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from chat_bridge.model import IndexedMessage, MessageKey, ParkedEvent, ParkedKey


class MessageStore(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Store messages, at most one per key; the greater version replaces the other. Committed on return.

        Returns the keys that were added, whose message changed, or whose own event arrived after a reply or a copy.
        """
        ...

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        """Return the known messages among `keys`."""
        ...

    async def placed(self, copies: Sequence[IndexedMessage]) -> Sequence[IndexedMessage]:
        """Return copies of the messages, in the same order, with thread and question from the index.

        If the index lacks a message, its question is that of its turn.
        """
        ...

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        """Park events, at most one per key; an event that is already parked stays unchanged. Committed on return.

        Returns, for each key, the cause of the event parked under it.
        """
        ...

    async def parked_under(self, keys: Collection[ParkedKey]) -> Mapping[ParkedKey, str]:
        """Return the causes of the events parked under `keys`."""
        ...

    async def parked_by_tenant(self, tenants: Collection[str]) -> Mapping[str, int]:
        """Return the number of parked events per tenant."""
        ...

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return parked events about one of `keys`, with their originals, by log time."""
        ...

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return up to `limit` parked events whose original is known."""
        ...

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        """Return up to `limit` events parked before that moment (microseconds)."""
        ...

    async def waited_for(self, after: MessageKey, limit: int) -> Sequence[MessageKey]:
        """Return up to `limit` keys of missing originals, sorted, beginning after `after`."""
        ...

    def scan_parked(self, tenant: str, batch: int) -> AsyncIterator[Sequence[ParkedEvent]]:
        """Yield every parked event of a tenant, by key, at most `batch` at a time."""
        ...

    async def rewrite(self, events: Collection[ParkedEvent]) -> None:
        """Replace the values of parked events, at most one per key. Skips events that are no longer parked."""
        ...

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        """Delete parked events. Ignores unknown keys."""
        ...

    async def parked(self) -> int:
        """Return the number of parked events."""
        ...
