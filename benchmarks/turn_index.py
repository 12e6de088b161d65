"""Latency of searching all turns of a person in an index of a million turns: directly, and by `detect` over HTTP.

    python -m benchmarks.turn_index [--turns N] [--rate N] [--seconds N] [--seed S] [--json]

Directly: one search after another, including the vector of the message. Over HTTP: requests at a constant rate,
regardless of outstanding ones; the latency counts from the time when the request was due. The server, this process
and PostgreSQL share two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import uvloop

import inference.service
from benchmarks.detect_over_http import OVER_HTTP, SAYINGS, TOKEN, Asked, spread
from benchmarks.programs import Program
from benchmarks.turn_rows import HEAVY, PROJECT, TENANT, Filled, fill
from benchmarks.workload import scratch
from detector.encoders.embedder import WordLlamaEmbedder
from detector.location import MAX_AGE_US
from inference.turns.store import PersonTurns, StrategyFilter
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool
from servicekit.garbage_collection import tune_gc
from standalone.embedded.postgres import EmbeddedPostgres

Say = Callable[[str], None]
SCHEMA: Final = inference.sql.SQL.schema
WARM, LOOKS, HEAVY_LOOKS, SEARCHES = 200, 2_000, 200, 50


async def turn_index(folder: Path, turns: int, rate: int, seconds: int, seed: int, say: Say) -> Any:
    """Return the latencies in milliseconds, by query."""
    async with EmbeddedPostgres(folder / "postgres", say) as postgres:
        url = postgres.url
        pool = await open_pool(url, "inference", SCHEMA)
        try:
            filled = await fill(url, turns, time.time_ns() // 1_000, seed, say)
            index = PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder()))
            say("Looking through one person's turns")
            figures: dict[str, Any] = {
                "turns": turns,
                "table_mb": filled.megabytes,
            }
            figures |= await _directly(index, filled, random.Random(seed))
        finally:
            await pool.close()
        tune_gc()
        with Program("-m", "benchmarks.run_detect", url, TOKEN) as server:
            asked = Asked(server.port, {"server": [server.pid], "postgres": [postgres.pid]}, filled, rate, seconds)
            for name, look_back in OVER_HTTP.items():
                say(f"{name} over HTTP: {rate}/s for {seconds} s")
                figures[f"{name}_ms"] = await asked.measure(look_back, seed)
    return figures


async def _directly(index: PostgresTurnIndex, filled: Filled, chance: random.Random) -> dict[str, Any]:
    async def look(who: str) -> None:
        looked = PersonTurns(TENANT, PROJECT, who, filled.until - MAX_AGE_US, filled.until + 1)
        assert await index.nearby(looked, chance.choice(SAYINGS))

    async def search(_: str) -> None:
        await index.search(StrategyFilter(TENANT, PROJECT, text=chance.choice(SAYINGS)), 10)

    people = [chance.choice(filled.recent)[0] for _ in range(WARM + LOOKS)]
    await _timed(look, people[:WARM])
    return {
        "look_ms": spread(await _timed(look, people[WARM:])),
        "look_of_heavy_ms": spread(await _timed(look, [HEAVY] * HEAVY_LOOKS)),
        "strategies_like_a_question_ms": spread(await _timed(search, [""] * SEARCHES)),
    }


async def _timed(work: Callable[[str], Any], on: Sequence[str]) -> list[float]:
    spent = []
    for one in on:
        began = time.perf_counter()
        await work(one)
        spent.append(time.perf_counter() - began)
    return spent


def main() -> None:
    """Print one line per figure, or one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_index", description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {text}", file=sys.stderr, flush=True)

    with scratch() as folder:
        figures = uvloop.run(turn_index(folder, options.turns, options.rate, options.seconds, options.seed, say))
    figures["load_average_at_end"] = round(os.getloadavg()[0], 1)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
