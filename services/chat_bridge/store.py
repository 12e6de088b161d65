"""Interface of the bridge's database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from chat_bridge.model import IndexedMessage, MessageKey, ParkedEvent, ParkedKey


class MessageStore(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Store messages, at most one per key, and commit. Of two versions of a message, the greater one is kept.

        Returns the keys of messages that were added or changed, and of messages that were known from a reply or a copy
        before their own event arrived.
        """
        ...

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        """Return the stored messages with these keys, by key."""
        ...

    async def placed(self, copies: Sequence[IndexedMessage]) -> Sequence[IndexedMessage]:
        """Return the given copies of messages, in order, with the thread and the question that the index has for them.

        If a message is not in the index, its question is the question of its turn.
        """
        ...

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        """Park events, at most one per key, and commit. An event that is already parked is not changed.

        Returns, by key, the cause of the event that is parked.
        """
        ...

    async def parked_under(self, keys: Collection[ParkedKey]) -> Mapping[ParkedKey, str]:
        """Return, by key, the causes of the events that are parked under these keys."""
        ...

    async def parked_by_tenant(self, tenants: Collection[str]) -> Mapping[str, int]:
        """Return the number of parked events of each tenant."""
        ...

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return the parked events about these messages, with their originals, sorted by log time."""
        ...

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return at most `limit` parked events with known originals, and these originals."""
        ...

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        """Return at most `limit` events that were parked before `before` (microseconds)."""
        ...

    async def waited_for(self, after: MessageKey, limit: int) -> Sequence[MessageKey]:
        """Return at most `limit` keys of missing originals that follow `after`, in order."""
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
