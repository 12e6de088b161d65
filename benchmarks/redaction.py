"""Cost of redaction: delivery of chat messages to one group, with and without, in one run.

    python -m benchmarks.redaction [--records N] [--rounds N]

Records are read, parsed and delivered to a handler that does nothing, so neither Kafka nor PostgreSQL is involved. The
unit is microseconds of CPU time per record; the ratio compares with reading and parsing alone. Rounds alternate between
the settings, and the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID, uuid5

from contracts.topics import CHAT_MESSAGE
from servicekit.clock import SystemClock
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Handler
from servicekit.log.messages import Message, Written
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord
from servicekit.redaction.redactor import Redactor
from servicekit.redaction.settings import BUILT_IN, RedactionSettings

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "off": {"kinds": frozenset()},
    "default": {},
    "all kinds": {"kinds": frozenset(BUILT_IN)},
    "all kinds, an own pattern": {"kinds": frozenset(BUILT_IN), "patterns": {"employee": "EMP-[0-9]{6}"}},
}
_SPACE: Final = UUID("2b1f8c5a-6c1e-5f0a-9d57-1a6e0c9b7d12")
_PLAIN: Final = "Can you tell me when the museum opens on Sundays, and what a ticket for two adults costs? "
TEXTS: Final = {
    "plain, 90 characters": _PLAIN,
    "plain, 900 characters": _PLAIN * 10,
    "not ASCII, escaped": _PLAIN + "Grüße",
    "with a card": _PLAIN + "My card is 4111 1111 1111 1111.",
}


class _NoWork(Handler):
    async def handle(self, batch: Sequence[Any]) -> Sequence[Outcome]:
        return [Outcome.STORED] * len(batch)


class _NoLetters:
    async def send(self, messages: Sequence[Message]) -> list[Written]:
        raise AssertionError(f"{len(messages)} dead letters")


async def _commit(_: Sequence[RawRecord]) -> bool:
    return True


def _record(number: int, text: str) -> RawRecord:
    event_id, message, turn = (str(uuid5(_SPACE, f"{name} {number}")) for name in ("event", "message", "turn"))
    event = {
        "eventId": event_id, "occurredAt": "2026-01-01T10:00:00.000Z", "tenant": "acme", "project": "support",
        "messageId": message, "conversationId": str(uuid5(_SPACE, f"{number % 50}")), "turnId": turn, "senderId": "ann",
        "senderType": "human", "content": text,
    }  # fmt: skip
    return RawRecord(Coordinates(CHAT_MESSAGE.name, 0, number), b"c", json.dumps(event).encode(), (), 2**62)


async def measure(text: str, records: int, rounds: int) -> dict[str, float]:
    """Return the CPU time per record in microseconds, by setting."""
    clock = SystemClock()
    batches = [[_record(n, text) for n in range(first, first + 500)] for first in range(0, records, 500)]
    spent: dict[str, list[float]] = {name: [] for name in SETTINGS}
    deliveries = {
        name: Delivery(
            CHAT_MESSAGE.consumers[0],
            _NoWork(),
            _NoLetters(),
            clock=clock,
            redactor=Redactor(RedactionSettings(**settings)),
        )
        for name, settings in SETTINGS.items()
    }
    for _ in range(rounds):
        for name, delivery in deliveries.items():
            began = time.process_time()
            for batch in batches:
                await delivery.deliver(batch, _commit)
            spent[name].append((time.process_time() - began) / records * 1_000_000)
    return {name: statistics.median(figures) for name, figures in spent.items()}


def main() -> None:
    """Print one line per text: microseconds per record, and the ratio to no redaction."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--records", type=int, default=5_000)
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    for name, text in TEXTS.items():
        found = asyncio.run(measure(text, given.records, given.rounds))
        shown = [f"{setting} {figure:.1f} µs ({figure / found['off']:.2f}x)" for setting, figure in found.items()]
        print(f"{name}: {', '.join(shown)}")


if __name__ == "__main__":
    main()
