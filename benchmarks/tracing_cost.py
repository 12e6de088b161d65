"""Cost of traces: batches of chat_bridge and feedback, alternately without traces, with a share of 1 % and with all.

    python -m benchmarks.tracing_cost [--events N] [--batch N] [--rounds N] [--without-all]

The records are delivered and handled on an embedded PostgreSQL without Kafka, whose cost would make the share of
traces smaller. The unit is microseconds of this process's CPU time per event, without PostgreSQL and the collector; it
includes the thread that sends the spans. An exporter is made once per sampling rate and exports at the end of each
round. `ratio` is the median over the rounds of the time with traces divided by the time without, with an interval by
order statistics, of 95 % from six rounds on. The rounds run through all orders of the sampling rates, each after a
garbage collection.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import permutations
from statistics import median
from typing import Any

import chat_bridge.parts
import feedback.store_choice
from benchmarks.handled import Collected
from benchmarks.workload import Workload, scratch, source_of
from chat_bridge.handlers import ChatHandler
from chat_bridge.parking import Parking
from chat_bridge.store_postgres import PostgresMessageStore
from contracts.instants import DAY
from contracts.topics import Consumer
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from feedback.store_postgres import PostgresStore
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Handler
from servicekit.log.late_outcomes import LateOutcomes
from servicekit.log.messages import Message
from servicekit.log.records import Coordinates, RawRecord
from servicekit.otlp import OtlpTraces
from standalone.embedded.postgres import EmbeddedPostgres

SHARES: dict[str, float | None] = {"off": None, "1 %": 0.01, "all": 1.0}
COLLECTOR = """
import http.server
class Sink(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
print(server.server_port, flush=True)
server.serve_forever()
"""
"""Program that accepts spans and discards them."""


async def measure(
    url: str, shares: Mapping[str, OtlpTraces | None], events: int, batch: int, rounds: int, source: str
) -> dict[str, Any]:
    """Deliver the same number of new events with each sampling rate, in each round."""
    chat = await open_pool(url, "chat_bridge", chat_bridge.parts.MIGRATIONS)
    store = await open_pool(url, "feedback", feedback.store_choice.MIGRATIONS)
    spent: dict[str, list[dict[str, float]]] = defaultdict(list)
    orders = list(permutations(shares))
    for number in range(rounds):
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for name in orders[number % len(orders)]:
            traces = shares[name]
            messages = Workload(source, events, seed=1, run=f"{number} {name}").messages()
            derived = Collected()
            late = LateOutcomes("chat_bridge", derived)
            messages_store, clock = PostgresMessageStore(chat), SystemClock()
            parking = Parking(messages_store, derived, clock, DAY, late)
            bridge = ChatHandler(messages_store, derived, parking, clock, 100_000)
            found["chat_bridge"][name] = await _cost("chat_bridge", bridge, messages, batch, traces)
            of_feedback = FeedbackHandler(PostgresStore(store), Collected(), DEFAULT_REWARDS)
            found["feedback"][name] = await _cost("feedback", of_feedback, derived.sent, batch, traces)
        for group, by_share in found.items():
            spent[group].append(by_share)
    await chat.close()
    await store.close()
    return {
        group: {
            "off_us": round(median(one["off"] for one in taken), 1),
            **{
                f"ratio, {name}": with_interval([one[name] / one["off"] for one in taken])
                for name in shares
                if name != "off"
            },
        }
        for group, taken in spent.items()
    }


def with_interval(ratios: Sequence[float]) -> dict[str, float]:
    """Return the median and an interval of at least 95 %: ratios whose ranks are 1.96 deviations from the middle."""
    ranked = sorted(ratios)
    away = 0.98 * math.sqrt(len(ranked))
    low = max(0, math.floor(len(ranked) / 2 - away) - 1)
    high = min(len(ranked) - 1, math.ceil(len(ranked) / 2 + away))
    return {"median": round(median(ranked), 3), "low": round(ranked[low], 3), "high": round(ranked[high], 3)}


async def _cost(
    group: Consumer, handler: Handler, messages: Sequence[Message], batch: int, traces: OtlpTraces | None
) -> float:
    """Return the CPU time per event, in microseconds."""
    tracing = None if traces is None else traces.of(group)
    delivery = Delivery(group, handler, Collected(), clock=SystemClock(), tracing=tracing)
    now = time.time_ns() // 1_000
    records = [
        RawRecord(
            Coordinates(one.topic, 0, number),
            (one.key or "").encode(),
            one.value,
            tuple(one.headers),
            now,
            log_timed=True,
        )
        for number, one in enumerate(messages)
    ]

    async def commit(_: object) -> bool:
        return True

    gc.collect()
    before = time.process_time()  # os.times counts ticks of 10 ms
    for first in range(0, len(records), batch):
        await delivery.deliver(records[first : first + batch], commit)
    if traces is not None:
        await traces.flush()
    return (time.process_time() - before) * 1e6 / len(records)


async def run(asked: argparse.Namespace, collector: str) -> dict[str, Any]:
    with scratch() as folder:
        source, name = source_of(folder)
        async with EmbeddedPostgres(folder / "postgres", print) as server:
            shares = {
                name: None if share is None else OtlpTraces(collector, share)
                for name, share in SHARES.items()
                if not (asked.without_all and name == "all")
            }
            found = await measure(server.url, shares, asked.events, asked.batch, asked.rounds, str(source))
            for traces in shares.values():
                if traces is not None:
                    await traces.close()
    return {"source": name, "batch": asked.batch, **found}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracing_cost", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--without-all", action="store_true", help="measure only off and 1 %%")
    asked = parser.parse_args()
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE) as sink:
        try:
            assert sink.stdout is not None
            collector = f"http://127.0.0.1:{int(sink.stdout.readline())}/v1/traces"
            print(json.dumps(asyncio.run(run(asked, collector))))
        finally:
            sink.terminate()


if __name__ == "__main__":
    main()
