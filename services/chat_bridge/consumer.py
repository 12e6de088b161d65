"""Takes in chat events batch by batch: index the messages, find the originals, forward, or park."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chat_bridge.model import About, IndexedMessage, MessageKey, ParkedEvent, ParkedKey, indexed, original_id
from chat_bridge.parking import Parking, message_of
from chat_bridge.source import MessageSource
from chat_bridge.store import Store
from chat_bridge.translate import Translated, translate
from contracts.chat import ChatMessageIngested
from servicekit.clock import Clock
from servicekit.outcome import STORED, UNCHANGED, DeadLettered, Outcome, Parked
from servicekit.producer import Message, Producer
from servicekit.records import TRACEPARENT, Received, header, inherited

PARKED = Parked("original_unknown")


class ChatEvents:
    """The handler of the group `chat_bridge`.

    Both sides of a wait (a message arrives, an event is parked) commit first and then look for the other, so that
    whichever comes second sees the first.
    """

    def __init__(
        self,
        store: Store,
        producer: Producer,
        parking: Parking,
        clock: Clock,
        parked_limit: int,
        source: MessageSource | None = None,
    ) -> None:
        self._store = store
        self._producer = producer
        self._parking = parking
        self._clock = clock
        self._parked_limit = parked_limit
        self._source = source

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        outcomes: dict[int, Outcome] = {}
        touched = await self._index(batch, outcomes)
        forwarded, unknown = await self._forward(batch, outcomes)
        parked = await self._park(batch, unknown, outcomes)
        touched.update(event.original for event in parked.values())
        released = await self._store.released_by(touched)
        await self._producer.send(forwarded)
        if released:
            became = await self._parking.release(released)
            for index, event in parked.items():
                outcomes[index] = became.get((event.key, event.cause), outcomes[index])
        return [outcomes[index] for index in range(len(batch))]

    async def uncertain(self, batch: Sequence[Received[Any]]) -> None:
        """Nothing to mend: derived events have the same ids whoever forwards them."""

    async def probe(self) -> None:
        await self._store.ping()

    async def _index(self, batch: Sequence[Received[Any]], outcomes: dict[int, Outcome]) -> set[MessageKey]:
        latest: dict[MessageKey, IndexedMessage] = {}
        by_key: dict[MessageKey, list[tuple[int, bool]]] = {}
        for index, received in enumerate(batch):
            event = received.event
            if not isinstance(event, ChatMessageIngested):
                continue
            message = indexed(event, event.tenant, event.project, event.occurred_at)
            standing = latest.get(message.key)
            later = standing is None or message.occurred_at > standing.occurred_at
            says_more = standing is None or (later and _differ(message, standing))
            if later:
                latest[message.key] = message
            by_key.setdefault(message.key, []).append((index, says_more))
        changed = await self._store.index(latest.values()) if latest else set()
        for key, seen in by_key.items():
            for index, says_more in seen:
                outcomes[index] = STORED if says_more and key in changed else UNCHANGED
        return changed

    async def _forward(
        self, batch: Sequence[Received[Any]], outcomes: dict[int, Outcome]
    ) -> tuple[list[Message], list[int]]:
        about = [(i, r) for i, r in enumerate(batch) if not isinstance(r.event, ChatMessageIngested)]
        known = await self._originals([r.event for _, r in about if _inline(r.event) is None])
        messages: list[Message] = []
        unknown: list[int] = []
        for index, received in about:
            original = _inline(received.event) or known.get(_original_key(received.event))
            if original is None:
                unknown.append(index)
                continue
            result = translate(received.event, original)
            if isinstance(result, Translated):
                messages.append(message_of(result, inherited(received)))
                outcomes[index] = STORED
            else:
                outcomes[index] = result
        return messages, unknown

    async def _originals(self, events: Sequence[About]) -> Mapping[MessageKey, IndexedMessage]:
        """The originals that the index has, and of the others those that the source gives."""
        known = await self._store.find([_original_key(event) for event in events])
        missing = {_original_key(event): event.occurred_at for event in events} if self._source else {}
        for key in known:
            missing.pop(key, None)
        if self._source is None or not missing:
            return known
        found = await self._source.fetch(missing)
        return {**known, **{key: indexed(copy, key.tenant, key.project, missing[key]) for key, copy in found.items()}}

    async def _park(
        self, batch: Sequence[Received[Any]], unknown: Iterable[int], outcomes: dict[int, Outcome]
    ) -> dict[int, ParkedEvent]:
        waiting = {index: self._parked_event(batch[index]) for index in unknown}
        if not waiting:
            return {}
        held = await self._store.parked_under({event.key for event in waiting.values()})
        counts = await self._store.parked_by_tenant({event.key.tenant for event in waiting.values()})
        room = {tenant: self._parked_limit - count for tenant, count in counts.items()}
        first: dict[ParkedKey, ParkedEvent] = {}
        for index, event in list(waiting.items()):
            if event.key in held or event.key in first:
                continue
            left = room.setdefault(event.key.tenant, self._parked_limit)
            if left <= 0:
                outcomes[index] = DeadLettered("parking_full")
                del waiting[index]
            else:
                room[event.key.tenant] = left - 1
                first[event.key] = event
        holders = {**held, **await self._store.park(first.values())}
        for index, event in waiting.items():
            outcomes[index] = PARKED if holders.get(event.key) == event.cause else UNCHANGED
        return waiting

    def _parked_event(self, received: Received[Any]) -> ParkedEvent:
        event: About = received.event
        return ParkedEvent(
            key=ParkedKey(event.tenant, event.project, received.topic, event.event_id),
            original_message_id=original_id(event),
            record_key=received.raw.key,
            value=received.raw.value or b"",
            cause=received.cause,
            traceparent=header(received.raw.headers, TRACEPARENT),
            log_time=received.log_time,
            parked_at=self._clock.now(),
        )


def _differ(one: IndexedMessage, other: IndexedMessage) -> bool:
    return (one.content, one.turn_id, one.conversation_id, one.sender_id) != (
        other.content,
        other.turn_id,
        other.conversation_id,
        other.sender_id,
    )


def _original_key(event: About) -> MessageKey:
    return MessageKey(event.tenant, event.project, original_id(event))


def _inline(event: About) -> IndexedMessage | None:
    """The copy sent along, if it is a copy of the message that the event names."""
    copy = event.original
    if copy is None or copy.message_id != original_id(event):
        return None
    return indexed(copy, event.tenant, event.project, event.occurred_at)
