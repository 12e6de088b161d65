"""Handler that indexes chat messages, and forwards or parks replies and reactions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chat_bridge.model import (
    BatchedEvent,
    ParkedEvent,
    ParkedKey,
    Translated,
    batched,
    follow_ups,
    latest_versions,
    message_of,
    original_key,
    parked_event,
    translate,
)
from chat_bridge.parking import Parking
from chat_bridge.store import MessageStore
from contracts.message_fields import MessageKey
from servicekit.clock import Clock
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Producer, Received

PARKED = Outcome.parked("original_unknown")
NO_ANSWER = Outcome.ignored("no_answer")
PARKING_FULL = Outcome.dead_lettered("parking_full")
Outcomes = Mapping[BatchedEvent, Outcome]


class ChatHandler(Handler):
    """Handler of the consumer group `chat_bridge`.

    A message and a reply to it may be handled concurrently. Each handler commits its own event before it looks for the
    other one, so at least one of the handlers finds both.
    """

    def __init__(self, store: MessageStore, producer: Producer, parking: Parking, clock: Clock) -> None:
        self._store = store
        self._producer = producer
        self._parking = parking
        self._clock = clock

    async def handle(self, records: Sequence[Received[Any]]) -> Sequence[Outcome]:
        events = [batched(received) for received in records]
        messages = latest_versions(events)
        changed = await self._store.index(messages) if messages else set()
        events = await self._with_rated_answers(events)
        translated = await self._translate(events)
        outcomes = {**_message_outcomes(events, changed), **_outcomes(translated)}
        waiting = {event: parked_event(event, self._clock.now()) for event in events if event not in outcomes}
        outcomes |= await self._park(waiting)
        forwarded = [(event, result) for event, result in translated.items() if isinstance(result, Translated)]
        await self._producer.send([message_of(result, event.received.derived_headers) for event, result in forwarded])
        outcomes |= await self._release(changed, waiting)
        return [outcomes[event] for event in events]

    async def _with_rated_answers(self, events: Sequence[BatchedEvent]) -> list[BatchedEvent]:
        """Add the id of the agent's last answer, if there is one, to judgements that name no message."""
        ratings = {event: event.rating for event in events if event.rating is not None}
        answers = dict(zip(ratings, await self._store.last_answers([*ratings.values()]), strict=True))
        return [
            replace(event, about=ratings[event].model_copy(update={"message_id": answers[event]}))
            if answers.get(event) is not None
            else event
            for event in events
        ]

    async def _translate(self, events: Sequence[BatchedEvent]) -> dict[BatchedEvent, Translated | Outcome]:
        """Convert replies and reactions to feedback events, or to the outcomes of ignored ones.

        Events whose original is neither in the index nor copied into the event are missing from the result.
        """
        answers = await self._store.thread_answers(follow_ups(events))
        about = {event: event.about for event in events if event.about is not None}
        messages = await self._store.find({*map(original_key, about.values()), *answers.values()})
        results: dict[BatchedEvent, Translated | Outcome] = {}
        for event, reply in about.items():
            original = messages.get(original_key(reply)) or event.copy
            if event.message is not None and (answer := answers.get(event.message.key)):
                original = messages.get(answer, original)
            if event.rating is not None:
                results[event] = NO_ANSWER
            elif original is not None:
                results[event] = translate(reply, original)
        return results

    async def _park(self, waiting: Mapping[BatchedEvent, ParkedEvent]) -> Outcomes:
        """Park events until their originals arrive, as long as their tenants have room.

        If another event is stored under the same key, the event is a duplicate, and its outcome is UNCHANGED.
        """
        first: dict[ParkedKey, ParkedEvent] = {}
        for parked in waiting.values():
            first.setdefault(parked.key, parked)
        causes = await self._store.park(first.values()) if first else {}
        return {
            event: PARKING_FULL
            if parked.key not in causes
            else PARKED
            if causes[parked.key] == parked.cause
            else Outcome.UNCHANGED
            for event, parked in waiting.items()
        }

    async def _release(self, changed: set[MessageKey], waiting: Mapping[BatchedEvent, ParkedEvent]) -> Outcomes:
        """Release events that wait for an indexed message, or whose original has arrived while they were parked.

        Returns:
            The final outcomes of those events of this batch that were released.
        """
        keys = changed | {parked.original for parked in waiting.values()}
        pairs = await self._store.released_by(keys) if keys else []
        released = await self._parking.release(pairs) if pairs else {}
        return {
            event: released[parked.key, parked.cause]
            for event, parked in waiting.items()
            if (parked.key, parked.cause) in released
        }


def _message_outcomes(events: Sequence[BatchedEvent], changed: Collection[MessageKey]) -> Outcomes:
    """Return the outcomes of messages that are not replies. `changed` has the keys of the written index rows.

    If a message has several events with the same event id, only the first one counts as stored.
    """
    outcomes: dict[BatchedEvent, Outcome] = {}
    seen: set[tuple[MessageKey, str]] = set()
    for event in events:
        if (message := event.message) is not None and event.about is None:
            key = message.key, event.received.event.event_id
            is_stored = message.key in changed and key not in seen
            outcomes[event] = Outcome.STORED if is_stored else Outcome.UNCHANGED
            seen.add(key)
    return outcomes


def _outcomes(translated: Mapping[BatchedEvent, Translated | Outcome]) -> Outcomes:
    return {event: Outcome.STORED if isinstance(result, Translated) else result for event, result in translated.items()}
