"""Handler that indexes chat messages, and forwards or parks replies and reactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chat_bridge.batch import Batch, parked_keys, tenants_of
from chat_bridge.parking import Parking
from chat_bridge.store import MessageStore
from servicekit import Clock, Handler, Outcome, Producer, Received


class ChatHandler(Handler):
    """Handler of the consumer group `chat_bridge`.

    A message and a reply to it may be handled concurrently. Each handler commits its own event before it looks for the
    other one, so at least one of the handlers finds both.
    """

    def __init__(
        self,
        store: MessageStore,
        producer: Producer,
        parking: Parking,
        clock: Clock,
        parked_bytes: int,
    ) -> None:
        self._store = store
        self._producer = producer
        self._parking = parking
        self._clock = clock
        self._parked_bytes = parked_bytes

    async def handle(self, records: Sequence[Received[Any]]) -> Sequence[Outcome]:
        batch = Batch.of(records)
        if messages := batch.messages:
            batch.indexed(await self._store.index(messages))
        batch.rate(await self._store.last_answers(batch.ratings))
        answers = await self._store.thread_answers(batch.follow_ups)
        batch.translate(await self._store.find(batch.originals | {*answers.values()}), answers)
        if batch.undecided:
            await self._park(batch)
        await self._producer.send(batch.derived)
        # Events that waited for a message of this batch, and events whose original arrived while they were parked.
        keys = batch.changed | batch.awaited
        if keys and (pairs := await self._store.released_by(keys)):
            batch.released(await self._parking.release(pairs))
        return batch.outcomes

    async def _park(self, batch: Batch) -> None:
        waiting = batch.undecided
        held = await self._store.parked_under(parked_keys(waiting))
        sizes = await self._store.parked_bytes(tenants_of(waiting))
        room = {tenant: self._parked_bytes - sizes.get(tenant, 0) for tenant in tenants_of(waiting)}
        stored = await self._store.park(batch.park(self._clock.now(), held, room))
        batch.parked_under({**held, **stored})
