"""Polling without pauses: a subscriber requests new records as soon as it has processed the previous ones."""

from __future__ import annotations

import asyncio
import time

from aiokafka import AIOKafkaConsumer, ConsumerRecord

from servicekit.log.merge import LogOrder
from servicekit.log.settings import BATCH_TIMEOUT_SECONDS, MAX_RECORDS
from servicekit.log.write_signal import WriteSignal

FULL = 500
"""Number of records from which a batch counts as full. After a full batch, more records are probably available."""
IDLE_SECONDS = 5.0
"""Maximum time between fetches from a broker with a write signal, in seconds."""
COMPANY = 200
"""Number of records from which the next batch does not wait for further records."""
UNASSIGNED_SECONDS = 0.05
"""Time between two looks at the assignment while there is none, in seconds."""
SIGNAL_WAIT_SECONDS = 0.03
"""Maximum wait for the records that a write signal announced, in seconds."""
RETRY_SECONDS = 0.1
"""Time until the first fetch after one that returned none of the announced records. It doubles up to IDLE_SECONDS."""


class Polling:
    """Source of a subscription's batches, instead of FastStream's.

    FastStream's own `get_msg` sleeps after an empty result, even if records have arrived since. `Subscription.attach`
    therefore replaces it, for which FastStream has no option.

    Args:
        wait_seconds: The time after a fetch of a few records until the next fetch. A batch costs much more than a
            record, so fewer and larger batches save processor time.
    """

    def __init__(self, signal: WriteSignal | None = None, wait_seconds: float = 0.0) -> None:
        self.order = LogOrder()
        self._signal = signal
        self._wait_seconds = wait_seconds
        self._next_fetch = 0.0
        """Earliest time of the next fetch, in monotonic seconds."""
        self._writes = -1
        self._idle_seconds = RETRY_SECONDS

    def forget(self) -> None:
        """Discard fetched records after a reassignment of the partitions."""
        self.order.forget()
        self._writes = -1

    async def get_msg(self, consumer: AIOKafkaConsumer) -> tuple[ConsumerRecord, ...]:
        """Return the available records. If there are none, wait for some, up to a second.

        After a full batch, or while fetched records are held, the next batch is fetched in parallel with the processing
        of this one. Otherwise the next fetch begins only when this batch has been processed, and returns all records
        that have arrived meanwhile. An earlier fetch would return only the first of them.

        A broker with a write signal is asked after a write, and then ever more rarely: on a busy machine a fetch may
        end before the write does.
        """
        if not consumer.assignment():
            await asyncio.sleep(UNASSIGNED_SECONDS)
            return ()
        await asyncio.sleep(max(0.0, self._next_fetch - time.monotonic()))
        signal = self._signal
        if signal is not None and self.order.is_empty:
            await signal.after(self._writes, self._idle_seconds)
            is_idle = signal.count == self._writes
            self._idle_seconds = min(2 * self._idle_seconds, IDLE_SECONDS) if is_idle else RETRY_SECONDS
            self._writes = signal.count
        consumer.resume(*consumer.paused())
        seconds = BATCH_TIMEOUT_SECONDS if signal is None else SIGNAL_WAIT_SECONDS
        records = await self.order.next_batch(consumer, seconds, MAX_RECORDS)
        if (0 < len(records) < FULL and self.order.is_empty) or (signal is not None and not records):
            consumer.pause(*consumer.assignment())
        if records:
            self._writes = -1
        if 0 < len(records) < COMPANY and self.order.is_empty:
            self._next_fetch = time.monotonic() + self._wait_seconds
        return records
