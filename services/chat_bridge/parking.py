"""Removal of parked events: released once their original is known, dead letters after CHAT_BRIDGE_PARKED_DAYS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from chat_bridge.model import IndexedMessage, ParkedEvent, ParkedKey
from chat_bridge.store import Store
from chat_bridge.translate import TOPIC_OF, Translated, translate
from contracts.topics import BY_NAME
from servicekit import metrics
from servicekit.clock import Clock
from servicekit.log.dead_letters import dead_letter
from servicekit.log.journal import Journal, Settled
from servicekit.log.messages import Message, Producer
from servicekit.log.observing import observe
from servicekit.log.outcome import STORED, DeadLettered, Observation, Observer, Outcome
from servicekit.log.records import CAUSE, LOG_TIME, TRACEPARENT, Coordinates, Headers, RawRecord, Unreadable, event_in

SWEEP_BATCH = 500
GIVEN_UP = DeadLettered("original_never_came")
NoteSetAside = Callable[[Sequence[Unreadable]], Awaitable[None]]
"""Callback for records whose dead letters are written. Must not raise."""


class Parking:
    """Releases and expires parked events.

    Publishes before it deletes, so a crash in between publishes an event twice instead of losing it. `max_age` in
    microseconds comes from the setting CHAT_BRIDGE_PARKED_DAYS (settings.py).
    """

    def __init__(
        self,
        store: Store,
        producer: Producer,
        clock: Clock,
        max_age: int,
        observers: Sequence[Observer] = (),
        note_set_aside: NoteSetAside | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._store = store
        self._producer = producer
        self._clock = clock
        self._max_age = max_age
        self._observers = observers
        self._note_set_aside = note_set_aside
        self._journal = journal

    async def release(
        self, pairs: Sequence[tuple[ParkedEvent, IndexedMessage]]
    ) -> Mapping[tuple[ParkedKey, str], Outcome]:
        """Forward the events' translations, and delete the events. Return the outcomes by key and cause."""
        messages: list[Message] = []
        became: dict[tuple[ParkedKey, str], Outcome] = {}
        for parked, original in pairs:
            event = event_in(parked.value, BY_NAME[parked.key.topic].event)
            result = translate(event, original)  # type: ignore[arg-type]  # only replies and reactions are parked
            if isinstance(result, Translated):
                messages.append(message_of(result, _headers(parked)))
                became[parked.key, parked.cause] = STORED
                continue
            became[parked.key, parked.cause] = result
        await self._producer.send(messages)
        await self._forget([parked for parked, _ in pairs], became)
        return became

    async def sweep(self) -> None:
        """Release events that a crash left parked, then expire those older than the setting."""
        while pairs := await self._store.releasable(SWEEP_BATCH):
            await self.release(pairs)
        while old := await self._store.expired(self._clock.now() - self._max_age, SWEEP_BATCH):
            await self._give_up(old)
        metrics.PARKED.labels("chat_bridge").set(await self._store.parked())

    async def _give_up(self, old: Sequence[ParkedEvent]) -> None:
        records = [Unreadable(_record(parked), GIVEN_UP.reason, "") for parked in old]
        await self._producer.send([_letter(one) for one in records])
        if self._note_set_aside is not None:
            await self._note_set_aside(records)
        await self._forget(old, {(parked.key, parked.cause): GIVEN_UP for parked in old})

    async def _forget(self, events: Sequence[ParkedEvent], became: Mapping[tuple[ParkedKey, str], Outcome]) -> None:
        await self._store.unpark([event.key for event in events])
        if self._journal is not None:
            await self._journal.settle([_settled(event, became[event.key, event.cause]) for event in events])
        for event in events:
            outcome = became[event.key, event.cause]
            observe(self._observers, Observation("chat_bridge", event.key.topic, event.cause, outcome))


def _settled(parked: ParkedEvent, outcome: Outcome) -> Settled:
    event = event_in(parked.value, BY_NAME[parked.key.topic].event)
    return Settled(event.event_id, parked.cause, parked.key.tenant, parked.key.project, outcome)


def message_of(event: Translated, headers: Headers) -> Message:
    """Return the record of a derived event."""
    topic = TOPIC_OF[type(event)]
    return Message(topic.name, topic.key(event), event.model_dump_json(by_alias=True).encode(), headers)


def _headers(parked: ParkedEvent) -> Headers:
    headers = [(CAUSE, parked.cause.encode()), (LOG_TIME, str(parked.log_time).encode())]
    if parked.traceparent:
        headers.append((TRACEPARENT, parked.traceparent.encode()))
    return headers


def _record(parked: ParkedEvent) -> RawRecord:
    topic, partition, offset = parked.cause.rsplit(":", 2)
    at = Coordinates(topic, int(partition), int(offset))
    return RawRecord(at, parked.record_key, parked.value, _headers(parked), parked.log_time)


def _letter(record: Unreadable) -> Message:
    return dead_letter(record.raw, service="chat_bridge", reason=record.reason, error_class="permanent")
