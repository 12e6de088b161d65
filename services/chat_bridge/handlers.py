"""Handler that indexes chat messages, and forwards or parks replies and reactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chat_bridge.batch import Batch, parked_keys, tenants_of
from chat_bridge.message_source import MessageSource
from chat_bridge.model import indexed
from chat_bridge.parking import Parking
from chat_bridge.store import MessageStore
from contracts.versions import COPY
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
        parked_limit: int,
        source: MessageSource | None = None,
    ) -> None:
        self._store = store
        self._producer = producer
        self._parking = parking
        self._clock = clock
        self._parked_limit = parked_limit
        self._source = source

    async def handle(self, records: Sequence[Received[Any]]) -> Sequence[Outcome]:
        batch = Batch.of(records)
        if messages := batch.messages:
            batch.indexed(await self._store.index(messages))
        if copies := batch.copies:
            batch.place(await self._store.placed(copies))
        known = await self._store.find(batch.wanted)
        if self._source is not None and (missing := batch.wanted - known.keys()):
            found = await self._source.fetch(missing)
            known = {**known, **{key: indexed(copy, key.tenant, key.project, COPY) for key, copy in found.items()}}
        batch.translate(known)
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
        counts = await self._store.parked_by_tenant(tenants_of(waiting))
        room = {tenant: self._parked_limit - counts.get(tenant, 0) for tenant in tenants_of(waiting)}
        stored = await self._store.park(batch.park(self._clock.now(), held, room))
        batch.parked_under({**held, **stored})
