"""Port of the bridge's database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from chat_bridge.model import IndexedMessage, MessageKey, ParkedEvent, ParkedKey


class MessageStore(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Store messages, at most one per key; the greater version replaces the other. Committed on return.

        Returns the keys of messages that were added or changed, and of messages whose own event arrived after a reply
        or a copy.
        """
        ...

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        """Return the stored messages among `keys`, by key."""
        ...

    async def placed(self, copies: Sequence[IndexedMessage]) -> Sequence[IndexedMessage]:
        """Return copies of the messages, in the same order, with thread and question from the index.

        If the index does not have a message, its question is the question of its turn.
        """
        ...

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        """Park events, at most one per key. An event that is already parked stays unchanged. Committed on return.

        Returns the cause of the parked event for each key.
        """
        ...

    async def parked_under(self, keys: Collection[ParkedKey]) -> Mapping[ParkedKey, str]:
        """Return the causes of the events parked under `keys`, by key."""
        ...

    async def parked_by_tenant(self, tenants: Collection[str]) -> Mapping[str, int]:
        """Return the number of parked events of each tenant."""
        ...

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return the parked events about one of `keys`, with their originals, sorted by log time."""
        ...

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return at most `limit` parked events whose originals are known, with their originals."""
        ...

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        """Return at most `limit` events that were parked before `before` (microseconds)."""
        ...

    async def waited_for(self, after: MessageKey, limit: int) -> Sequence[MessageKey]:
        """Return at most `limit` keys of missing originals, sorted, starting after `after`."""
        ...

    def scan_parked(self, tenant: str, batch: int) -> AsyncIterator[Sequence[ParkedEvent]]:
        """Yield all parked events of a tenant, sorted by key, in batches of at most `batch`."""
        ...

    async def rewrite(self, events: Collection[ParkedEvent]) -> None:
        """Replace the values of parked events, at most one per key. Events that are no longer parked are skipped."""
        ...

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        """Delete parked events. Unknown keys are ignored."""
        ...

    async def parked(self) -> int:
        """Return the number of parked events."""
        ...
