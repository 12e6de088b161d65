"""An index of conversations that lives and dies with the process: for tests, simulations and a first look."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Placed, Span, version_of


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
        self._held: dict[MessageKey, _Held] = {}

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        changed = set()
        for indexed in messages:
            held = self._held.get(indexed.key)
            if held is None:
                self._held[indexed.key] = _Held(indexed)
            else:
                merged = _merged(held.indexed, indexed)
                if merged == held.indexed:
                    continue
                news = merged.message != held.indexed.message
                self._held[indexed.key] = replace(held, indexed=merged, versions=held.versions + news)
            changed.add(indexed.key)
        return changed

    async def placed(self, keys: Collection[MessageKey]) -> Sequence[IndexedMessage]:
        return [self._held[key].indexed for key in sorted(set(keys)) if key in self._held]

    async def around(self, spans: Collection[Span], reach: int) -> Sequence[Sequence[Placed]]:
        return [self._around(span, reach) for span in spans]

    async def emitting(self, emissions: Collection[Emission]) -> None:
        for one in emissions:
            held = self._held.get(one.key)
            if held is not None:
                self._held[one.key] = replace(held, emitted_turn_id=one.turn_id, emitted_agent_id=one.agent_id)

    async def outdated(self, looked_at: Collection[Placed]) -> bool:
        return any(self._evaluation(one.indexed.conversation) > one.evaluation for one in looked_at)

    async def ping(self) -> None:
        return None

    def _around(self, span: Span, reach: int) -> list[Placed]:
        rows = self._conversation(span.conversation)
        places = [held.place for held in rows]
        first = max(0, bisect_left(places, span.first) - reach)
        last = bisect_right(places, span.last) + reach
        known = self._evaluation(span.conversation)
        return [Placed(held.indexed, known, held.emitted_turn_id, held.emitted_agent_id) for held in rows[first:last]]

    def _evaluation(self, conversation: ConversationKey) -> int:
        return sum(held.versions for held in self._conversation(conversation))

    def _conversation(self, conversation: ConversationKey) -> list[_Held]:
        rows = (held for held in self._held.values() if held.indexed.conversation == conversation)
        return sorted(rows, key=lambda held: held.place)


def _merged(held: IndexedMessage, newcomer: IndexedMessage) -> IndexedMessage:
    """The earliest time as the place, and the text and turn of the later version; the very held one if all is known."""
    message, new = held.message, newcomer.message
    at, said_at = min(message.at, new.at), max(held.said_at, newcomer.said_at)
    if version_of(newcomer) > version_of(held):
        message = new
    return IndexedMessage(held.conversation, replace(message, at=at), said_at)
