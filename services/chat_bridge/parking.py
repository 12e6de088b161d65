"""Release and expiry of parked events, which wait for their original messages.

An event that has waited for CHAT_BRIDGE_PARKED_DAYS becomes a dead letter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from chat_bridge import metrics
from chat_bridge.model import IndexedMessage, ParkedEvent, ParkedKey, Translated, message_of, translate
from chat_bridge.store import MessageStore
from contracts.headers import Headers, derived_headers
from contracts.instants import SECOND
from servicekit.clock import Clock
from servicekit.log.outcome import Outcome
from servicekit.log.records import Message, Producer, Received

SWEEP_BATCH = 500
GIVEN_UP = Outcome.dead_lettered("original_never_came")
Late = Sequence[tuple[Received[Any], Outcome]]
"""Parked events with their final outcomes."""


class OutcomeWriter(Protocol):
    """Interface for recording outcomes that are known only after the event's batch has ended.

    `Service.late_outcomes` returns an implementation.
    """

    async def set_aside(self, late: Late) -> None:
        """Write dead letters for the records and wait for the acknowledgement."""
        ...

    async def note(self, late: Late) -> None:
        """Count the final outcomes of the records."""
        ...


class Parking:
    """Release and expiry of parked events.

    Feedback events are published before the parked events are deleted. After a crash in between, an event is published
    twice, but none is lost.

    Args:
        max_age: Age in microseconds at which a parked event expires (CHAT_BRIDGE_PARKED_DAYS).
        late: Recorder of the events' final outcomes.
    """

    def __init__(
        self, store: MessageStore, producer: Producer, clock: Clock, max_age: int, late: OutcomeWriter
    ) -> None:
        self._store = store
        self._producer = producer
        self._clock = clock
        self._max_age = max_age
        self._late = late

    async def release(
        self, pairs: Sequence[tuple[ParkedEvent, IndexedMessage]]
    ) -> Mapping[tuple[ParkedKey, str], Outcome]:
        """Publish the feedback events derived from parked events, then delete the parked events.

        Args:
            pairs: Parked events with their original messages.

        Returns:
            The final outcomes by key and cause.
        """
        messages: list[Message] = []
        late: list[tuple[Received[Any], Outcome]] = []
        for parked, original in pairs:
            result = translate(parked.event, original)
            if isinstance(result, Translated):
                messages.append(message_of(result, _headers(parked)))
            late.append((_received(parked), Outcome.STORED if isinstance(result, Translated) else result))
        await self._producer.send(messages)
        await self._forget([parked for parked, _ in pairs], late)
        return {(parked.key, parked.cause): outcome for (parked, _), (_, outcome) in zip(pairs, late, strict=True)}

    async def sweep(self) -> None:
        """Release parked events whose originals have arrived, expire those past `max_age`, and update the metrics."""
        while pairs := await self._store.releasable(SWEEP_BATCH):
            await self.release(pairs)
        while old := await self._store.expired(self._clock.now() - self._max_age, SWEEP_BATCH):
            expired = [(_received(parked), GIVEN_UP) for parked in old]
            await self._late.set_aside(expired)
            await self._forget(old, expired)
        metrics.PARKED.labels("chat_bridge").set(await self._store.parked())
        now = self._clock.now()
        oldest = await self._store.expired(now, 1)
        metrics.PARKED_SECONDS.labels("chat_bridge").set((now - oldest[0].parked_at) / SECOND if oldest else 0)

    async def _forget(self, events: Sequence[ParkedEvent], late: Late) -> None:
        await self._store.unpark([event.key for event in events])
        await self._late.note(late)


def _headers(parked: ParkedEvent) -> Headers:
    return derived_headers(parked.cause, parked.log_time, parked.traceparent)


def _received(parked: ParkedEvent) -> Received[Any]:
    headers = _headers(parked)
    return Received.kept(parked.event, parked.cause, parked.record_key, parked.value, headers, parked.log_time)
