"""Erasure of people's words from parked events. The message index contains neither texts nor ids of people."""

from __future__ import annotations

from chat_bridge.model import ParkedEvent
from chat_bridge.store import MessageStore
from contracts.erasure import ErasedAt, author_of, is_erased

_AT_ONCE = 1_000


async def erase_parked(store: MessageStore, erased: ErasedAt) -> int:
    """Delete the parked events of erased people, and return the number of deleted rows."""
    removed = 0
    for tenant in sorted({person.tenant for person in erased}):
        async for page in store.scan_parked(tenant, _AT_ONCE):
            covered = [event.key for event in page if _is_covered(event, erased)]
            await store.unpark(covered)
            removed += len(covered)
    return removed


def _is_covered(parked: ParkedEvent, erased: ErasedAt) -> bool:
    event = parked.event
    author = author_of(event)
    return author is not None and is_erased(event.occurred_at, erased.get(author), parked.log_time)
