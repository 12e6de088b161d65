"""In-memory message index for tests and simulations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Place, Placed, Scope


@dataclass(frozen=True, slots=True)
class _StoredMessage:
    indexed: IndexedMessage
    versions: int = 1
    emitted_turn_id: str | None = None
    emitted_agent_id: str | None = None

    @property
    def place(self) -> tuple[int, str]:
        return self.indexed.message.at, self.indexed.message.message_id


class MemoryConversationStore:
    """In-memory implementation of `store.ConversationStore`."""

    def __init__(self) -> None:
        self._held: dict[ConversationKey, dict[MessageKey, _StoredMessage]] = {}
        self.epoch = 0

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        changed = set()
        for indexed in messages:
            conversation = self._held.setdefault(indexed.conversation, {})
            held = conversation.get(indexed.key)
            if held is None:
                conversation[indexed.key] = _StoredMessage(indexed)
            else:
                merged = held.indexed.merged(indexed)
                if merged is held.indexed:
                    continue
                news = merged.said != held.indexed.said
                conversation[indexed.key] = replace(held, indexed=merged, versions=held.versions + news)
            changed.add(indexed.key)
        return changed

    async def places(self, keys: Collection[MessageKey]) -> Sequence[Place]:
        found = (self._held.get(ConversationKey(*key[:3]), {}).get(key) for key in sorted(set(keys)))
        return [
            Place(held.indexed.conversation, at, held.indexed.message.message_id, thread)
            for held in found
            if held is not None
            for thread in dict.fromkeys((held.indexed.thread, *held.indexed.stood_in, *self._begun(held.indexed)))
            for at in dict.fromkeys((held.indexed.message.at, *held.indexed.stood_at))
        ]

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        by_scope: dict[Scope, list[tuple[int, str]]] = {}
        for place in places:
            by_scope.setdefault(place.scope, []).append((place.at, place.message_id))
        return [self._around(scope, asked, reach) for scope, asked in sorted(by_scope.items())]

    async def emitting(self, emissions: Collection[Emission]) -> None:
        for one in emissions:
            conversation = self._held.get(ConversationKey(*one.key[:3]), {})
            held = conversation.get(one.key)
            if held is not None and held.indexed.message.sender_id == one.sender_id:
                conversation[one.key] = replace(held, emitted_turn_id=one.turn_id, emitted_agent_id=one.agent_id)

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        return any(self._evaluation(one.indexed.conversation) > one.evaluation for one in looked_at)

    def _begun(self, root: IndexedMessage) -> Sequence[str]:
        """Return a list with the id of the thread that starts with this message. It is empty if no thread does."""
        name = root.message.message_id
        return [name] if any(h.indexed.thread == name for h in self._held[root.conversation].values()) else []

    def _around(self, scope: Scope, asked: Sequence[tuple[int, str]], reach: int) -> list[Placed]:
        rows = [
            held
            for held in self._held.get(scope.conversation, {}).values()
            if scope.thread in (held.indexed.thread, held.indexed.message.message_id)
        ]
        rows.sort(key=lambda held: held.place)
        places = [held.place for held in rows]
        near = {n for n, held in enumerate(rows) if held.indexed.message.message_id == scope.thread}
        for place in asked:
            at = bisect_left(places, place)
            near.update(range(max(0, at - reach), min(len(rows), at + reach + 1)))
        known = self._evaluation(scope.conversation)
        return [
            Placed(rows[n].indexed, known, rows[n].emitted_turn_id, rows[n].emitted_agent_id, self.epoch)
            for n in sorted(near)
        ]

    def _evaluation(self, conversation: ConversationKey) -> int:
        return sum(held.versions for held in self._held.get(conversation, {}).values())
