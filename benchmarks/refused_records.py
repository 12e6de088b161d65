"""Cost of invalid records: delivery to every group of a chat topic, including the creation of dead letters.

    python -m benchmarks.refused_records [--records N] [--batch N]

All records are distinct. Dead letters are created but not published, so neither Kafka nor PostgreSQL is involved. The
unit is microseconds of CPU time per record, for one group and for all groups together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from aiokafka import ConsumerRecord

from contracts.topics import CHAT_MESSAGE
from servicekit.clock import SystemClock
from servicekit.log.delivery import Delivery
from servicekit.log.fetched import LOG_APPEND_TIME, raw_record
from servicekit.log.handler import Handler
from servicekit.log.messages import Message, Written
from servicekit.log.outcome import Outcome
from servicekit.log.records import RawRecord
from servicekit.log.settings import SUBSCRIBER_SETTINGS

KINDS: Final[dict[str, Callable[[int], bytes]]] = {
    "short, not JSON": lambda number: b"%d{" % number,
    "short, an object": lambda number: b'{"a":%d}' % number,
    "100 bytes, not JSON": lambda number: b"%d{" % number + b"x" * 90,
}
"""Function that returns a record's value for a number, by kind of record."""


class _NoEvents(Handler):
    """Handler of a topic that has no readable records."""

    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        raise AssertionError(f"{len(batch)} records were read")


class _CountedLetters:
    """Producer that only counts messages."""

    def __init__(self) -> None:
        self.count = 0

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self.count += len(messages)
        return []


async def measure(value: Callable[[int], bytes], records: int, batch: int) -> dict[str, Any]:
    """Deliver distinct invalid records to every group of the topic, in batches. Return the figures."""
    clock, letters = SystemClock(), _CountedLetters()
    spent: dict[str, float] = {}
    for group in CHAT_MESSAGE.consumers:
        delivery = Delivery(group, _NoEvents(), letters, clock=clock)
        began = time.process_time()
        for first in range(0, records, batch):
            fetched = [_fetched(number, value(number)) for number in range(first, min(first + batch, records))]
            await delivery.deliver([raw_record(one, clock.now()) for one in fetched], _commit)
        spent[group] = (time.process_time() - began) / records * 1_000_000
    return {
        "us_of_first_group": round(spent[CHAT_MESSAGE.consumers[0]], 1),
        "us_of_all_groups": round(sum(spent.values()), 1),
        "letters": letters.count,
    }


def _fetched(offset: int, value: bytes) -> ConsumerRecord:
    return ConsumerRecord(CHAT_MESSAGE.name, 0, offset, 0, LOG_APPEND_TIME, None, value, None, 0, len(value), ())


async def _commit(_: Sequence[RawRecord]) -> bool:
    return True


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refused_records", description=__doc__)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--batch", type=int, default=SUBSCRIBER_SETTINGS["max_records"])
    asked = parser.parse_args()
    for kind, value in KINDS.items():
        found = await measure(value, asked.records, asked.batch)
        print(json.dumps({"records": asked.records, "kind": kind, **found}))


if __name__ == "__main__":
    asyncio.run(main())
