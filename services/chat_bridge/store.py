"""Port of the bridge's database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from chat_bridge.model import IndexedMessage, MessageKey, ParkedEvent, ParkedKey


class Store(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Keep messages, at most one per key; of two versions the greater one holds.

        Gives the keys that were added, whose message changed, or whose own event came after a reply's or a copy.
        Committed on return.
        """
        ...

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        """The known ones of `keys`."""
        ...

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        """Set events aside, at most one per key; one that is there already stays as it is.

        Gives, for each key, the cause of the event that is parked under it. Committed on return.
        """
        ...

    async def parked_under(self, keys: Collection[ParkedKey]) -> Mapping[ParkedKey, str]:
        """For those of `keys` under which an event is parked, its cause."""
        ...

    async def parked_by_tenant(self, tenants: Collection[str]) -> Mapping[str, int]:
        """Return the number of parked events per tenant."""
        ...

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Parked events about one of `keys`, with their originals, by log time."""
        ...

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Up to `limit` parked events whose original is known."""
        ...

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        """Up to `limit` events parked before that moment (microseconds)."""
        ...

    async def waited_for(self, after: MessageKey, limit: int) -> Sequence[MessageKey]:
        """Up to `limit` originals behind `after` that parked events wait for, in order."""
        ...

    def scan_parked(self, tenant: str, batch: int) -> AsyncIterator[Sequence[ParkedEvent]]:
        """Every parked event of a tenant, by key, at most `batch` at a time."""
        ...

    async def rewrite(self, events: Collection[ParkedEvent]) -> None:
        """Replace the values of parked events, at most one per key. Events that are no longer parked are skipped."""
        ...

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        """Forget parked events. Unknown keys are fine."""
        ...

    async def parked(self) -> int:
        """Return the number of parked events."""
        ...
