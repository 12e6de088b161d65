"""Interface of the bridge's database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from chat_bridge.model import IndexedMessage, ParkedEvent, ParkedKey, RatedConversation
from contracts.message_fields import MessageKey


class MessageStore(Protocol):
    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        """Store messages, at most one per key, and commit. Only the highest version of a message is kept.

        Returns:
            The keys of the messages that were added or changed. A message known only from a reply or a copy also counts
            as changed when its own event arrives.
        """
        ...

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        """Return the stored messages with these keys, by key."""
        ...

    async def thread_answers(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, MessageKey]:
        """Return the keys of the answers that people's messages follow, by the key of the person's message.

        Only messages in a thread of one person, who began it, and one agent are included. The answer is the agent's
        last message before the person's message.
        """
        ...

    async def last_answers(self, ratings: Sequence[RatedConversation]) -> Sequence[str | None]:
        """Return the message id of the last answer before each rating, in the same order."""
        ...

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        """Park events until their original messages arrive, and commit.

        Events that are already parked are not changed. Events for which their tenant has no room are not parked.

        Args:
            events: At most one event per key.

        Returns:
            The cause of the event that is stored under each key. Keys without a stored event are missing.
        """
        ...

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return the parked events about these messages, each with its message, sorted by log time.

        Events whose message is not in the index are omitted.
        """
        ...

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        """Return at most `limit` parked events whose original messages are known, each with its original."""
        ...

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        """Return at most `limit` events that were parked before `before` (microseconds), oldest first."""
        ...

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        """Delete parked events. Unknown keys are ignored."""
        ...

    async def parked(self) -> int:
        """Return the number of parked events."""
        ...
