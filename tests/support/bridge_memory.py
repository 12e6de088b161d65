"""In-memory message store for tests and simulations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from chat_bridge.model import IndexedMessage, ParkedEvent, ParkedKey
from chat_bridge.store import MessageStore
from contracts.chat import ChatMessageReactionIngested
from contracts.message_fields import MessageKey


class MemoryMessageStore(MessageStore):
    """Message store that overrides each method with one in memory."""

    def __init__(self) -> None:
        self._messages: dict[MessageKey, IndexedMessage] = {}
        self._parked: dict[ParkedKey, ParkedEvent] = {}
        self.is_full = False

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        changed = set()
        for message in messages:
            current = self._messages.get(message.key)
            merged = message if current is None else current.merged(message)
            is_repeated = current is not None and (
                merged == replace(current, version=merged.version) and merged.version[:17] == current.version[:17]
            )
            if not is_repeated:
                self._messages[message.key] = merged
                changed.add(message.key)
        return changed

    async def find(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, IndexedMessage]:
        return {key: self._with_question(self._messages[key]) for key in keys if key in self._messages}

    async def thread_answers(self, keys: Collection[MessageKey]) -> Mapping[MessageKey, MessageKey]:
        answers = {}
        for follow_up in (self._messages[key] for key in keys if key in self._messages):
            thread = [
                one
                for one in self._messages.values()
                if one.key[:3] == follow_up.key[:3]
                and one.thread_id is not None
                and one.thread_id == follow_up.thread_id
                and one.position <= follow_up.position
            ]
            agents = {one.agent_id for one in thread if one.sender_type == "agent"}
            people = {one.is_of_starter for one in thread if one.sender_type == "human"}
            before = [one for one in thread if one.sender_type == "agent" and one.has_text]
            if follow_up.is_of_starter and len(agents) == 1 and people == {True} and before:
                answers[follow_up.key] = max(before, key=lambda one: one.position).key
        return answers

    async def last_answers(self, ratings: Sequence[ChatMessageReactionIngested]) -> Sequence[str | None]:
        answers: list[str | None] = []
        for rating in ratings:
            conversation = rating.tenant, rating.project, rating.conversation_id
            before = [
                one
                for one in self._messages.values()
                if one.key[:3] == conversation and one.sender_type == "agent" and one.has_text
                if one.position.at <= rating.occurred_at and rating.agent_id in (None, one.agent_id)
            ]
            last = max(before, key=lambda one: one.position, default=None)
            answers.append(last.key.message_id if last else None)
        return answers

    def _with_question(self, message: IndexedMessage) -> IndexedMessage:
        conversation = (one for one in self._messages.values() if one.key[:3] == message.key[:3])
        return message.answering(one.exchange_message for one in conversation)

    async def park(self, events: Collection[ParkedEvent]) -> Mapping[ParkedKey, str]:
        for event in events:
            if not self.is_full:
                self._parked.setdefault(event.key, event)
        return {event.key: self._parked[event.key].cause for event in events if event.key in self._parked}

    async def released_by(self, keys: Collection[MessageKey]) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        return self._joined(event for event in self._parked.values() if event.original in keys)

    async def releasable(self, limit: int) -> Sequence[tuple[ParkedEvent, IndexedMessage]]:
        return self._joined(self._parked.values())[:limit]

    async def expired(self, before: int, limit: int) -> Sequence[ParkedEvent]:
        old = (event for event in self._parked.values() if event.parked_at < before)
        return sorted(old, key=lambda event: event.parked_at)[:limit]

    async def unpark(self, keys: Collection[ParkedKey]) -> None:
        for key in keys:
            self._parked.pop(key, None)

    async def parked(self) -> int:
        return len(self._parked)

    def _joined(self, events: Iterable[ParkedEvent]) -> list[tuple[ParkedEvent, IndexedMessage]]:
        known = (
            (event, self._with_question(self._messages[event.original]))
            for event in events
            if event.original in self._messages
        )
        return sorted(known, key=lambda pair: (pair[0].log_time, pair[0].cause))
