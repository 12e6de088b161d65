"""Cost of the journals of outcomes: batches of chat_bridge and feedback, alternately with and without a journal.

    python -m benchmarks.journal_cost [--events N] [--batch N] [--rounds N]

The handlers run on an embedded PostgreSQL without Kafka, whose cost would make the journal's share smaller. The unit is
milliseconds of CPU time per event, of Python and PostgreSQL together. `ratio` is the median over the rounds of the time
with a journal divided by the time without.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

import asyncpg

import chat_bridge.parts
import feedback.store_choice
from benchmarks.effort import Effort
from benchmarks.handled import Collected, received
from benchmarks.workload import Workload, scratch, source_of
from chat_bridge.handlers import ChatHandler
from chat_bridge.parking import Parking
from chat_bridge.store_postgres import PostgresMessageStore as BridgeStore
from contracts.instants import DAY
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from feedback.store_postgres import PostgresStore as FeedbackStore
from feedback.where import feedback_of
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.log.handler import Handler
from servicekit.log.journal import Journal, JournalingHandler
from servicekit.log.late_outcomes import LateOutcomes
from servicekit.log.messages import Message
from standalone.embedded.postgres import EmbeddedPostgres


async def measure(url: str, pid: int | None, events: int, batch: int, rounds: int, source: str) -> dict[str, Any]:
    """Handle the same number of new events with and without journals, in each round."""
    chat = await open_pool(url, "chat_bridge", chat_bridge.parts.MIGRATIONS)
    store = await open_pool(url, "feedback", feedback.store_choice.MIGRATIONS)
    spent: dict[str, list[list[float]]] = defaultdict(list)
    for number in range(rounds):
        order = (True, False) if number % 2 else (False, True)
        pairs: dict[str, list[float]] = {"chat_bridge": [0, 0], "feedback": [0, 0]}
        for journaled in order:
            messages = Workload(source, events, seed=1, run=f"{number} {journaled}").messages()
            derived, announced = Collected(), Collected()
            bridge = _bridge(chat, derived, journaled)
            pairs["chat_bridge"][journaled] = await _effort(bridge, messages, batch, pid)
            of_feedback = _feedback(store, announced, journaled)
            pairs["feedback"][journaled] = await _effort(of_feedback, derived.sent, batch, pid)
        for name, pair in pairs.items():
            spent[name].append(pair)
    await chat.close()
    await store.close()
    return {
        name: {
            "without_ms": round(median(pair[0] for pair in pairs), 3),
            "with_ms": round(median(pair[1] for pair in pairs), 3),
            "ratio": round(median(pair[1] / pair[0] for pair in pairs), 3),
        }
        for name, pairs in spent.items()
    }


def _bridge(pool: asyncpg.Pool, producer: Collected, journaled: bool) -> Handler:
    store, clock = BridgeStore(pool), SystemClock()
    parking = Parking(store, producer, clock, DAY, LateOutcomes("chat_bridge", producer))
    handler = ChatHandler(store, producer, parking, clock, 100_000)
    return JournalingHandler(handler, Journal(pool)) if journaled else handler


def _feedback(pool: Database, producer: Collected, journaled: bool) -> Handler:
    handler = FeedbackHandler(FeedbackStore(pool), producer, DEFAULT_REWARDS)
    return JournalingHandler(handler, Journal(pool, feedback_of)) if journaled else handler


async def _effort(handler: Handler, messages: Sequence[Message], batch: int, pid: int | None) -> float:
    """Return the CPU time per event, in milliseconds."""
    records = [received(message) for message in messages]
    effort = Effort({"postgres": [pid]})
    for first in range(0, len(records), batch):
        await handler.handle(records[first : first + batch])
    return float(sum(effort.until_now(len(records))["cpu_ms_per_event"].values()))


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal_cost", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=6)
    asked = parser.parse_args()
    with scratch() as folder:
        source, name = source_of(folder)
        async with EmbeddedPostgres(folder / "postgres", print) as server:
            found = await measure(server.url, server.pid, asked.events, asked.batch, asked.rounds, str(source))
    print(json.dumps({"source": name, "batch": asked.batch, **found}))


if __name__ == "__main__":
    asyncio.run(main())
