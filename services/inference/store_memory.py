"""An index of conversations that lives and dies with the process: for tests, simulations and a first look."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Place, Placed


@dataclass(frozen=True, slots=True)
class _Held:
    indexed: IndexedMessage
    versions: int = 1
    emitted_turn_id: str | None = None
    emitted_agent_id: str | None = None

    @property
    def place(self) -> tuple[int, str]:
        return self.indexed.message.at, self.indexed.message.message_id


class MemoryStore:
    """See `store.Store`."""

    def __init__(self) -> None:
        self._held: dict[ConversationKey, dict[MessageKey, _Held]] = {}

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        changed = set()
        for indexed in messages:
            conversation = self._held.setdefault(indexed.conversation, {})
            held = conversation.get(indexed.key)
            if held is None:
                conversation[indexed.key] = _Held(indexed)
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
            Place(held.indexed.conversation, at, held.indexed.message.message_id)
            for held in found
            if held is not None
            for at in dict.fromkeys((held.indexed.message.at, *held.indexed.stood_at))
        ]

    async def around(self, places: Collection[Place], reach: int) -> Sequence[Sequence[Placed]]:
        by_conversation: dict[ConversationKey, list[tuple[int, str]]] = {}
        for place in places:
            by_conversation.setdefault(place.conversation, []).append((place.at, place.message_id))
        return [self._around(conversation, asked, reach) for conversation, asked in sorted(by_conversation.items())]

    async def emitting(self, emissions: Collection[Emission]) -> None:
        for one in emissions:
            conversation = self._held.get(ConversationKey(*one.key[:3]), {})
            if (held := conversation.get(one.key)) is not None:
                conversation[one.key] = replace(held, emitted_turn_id=one.turn_id, emitted_agent_id=one.agent_id)

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        return any(self._evaluation(one.indexed.conversation) > one.evaluation for one in looked_at)

    async def ping(self) -> None:
        return None

    def _around(self, conversation: ConversationKey, asked: Sequence[tuple[int, str]], reach: int) -> list[Placed]:
        rows = sorted(self._held.get(conversation, {}).values(), key=lambda held: held.place)
        places = [held.place for held in rows]
        near: set[int] = set()
        for place in asked:
            at = bisect_left(places, place)
            near.update(range(max(0, at - reach), min(len(rows), at + reach + 1)))
        known = self._evaluation(conversation)
        return [Placed(rows[n].indexed, known, rows[n].emitted_turn_id, rows[n].emitted_agent_id) for n in sorted(near)]

    def _evaluation(self, conversation: ConversationKey) -> int:
        return sum(held.versions for held in self._held.get(conversation, {}).values())
