"""Looking through all of one person's turns, in an index of a million: directly, and through `detect` over HTTP.

    python -m benchmarks.turn_index [--turns N] [--rate N] [--seconds N] [--plain] [--seed S] [--json]

Directly: one look after the other, the vector of the message included. Over HTTP: requests at a steady rate, whether or
not the ones before have been answered; each counts from the moment it was due. `--plain` measures vectors without
pgvector. The server is a process of its own; it, this one and PostgreSQL share two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import asyncpg
import httpx
import uvloop

import inference.main
from benchmarks.turn_rows import HEAVY, PROJECT, TENANT, Filled, fill
from benchmarks.workload import scratch
from contracts.instants import format_instant
from inference.embed import WordLlamaEmbedder
from inference.location import MAX_AGE_US
from inference.turn_index import Looked, Wanted
from inference.turn_index_postgres import PostgresTurnIndex
from inference.turn_vectors import TurnVectors
from servicekit.collector import look_seldom
from servicekit.database import open_pool
from servicekit.embedded.ports import free_port
from servicekit.embedded.postgres import EmbeddedPostgres

Say = Callable[[str], None]
MIGRATIONS: Final = Path(inference.main.__file__).parent / "migrations"
SAYINGS: Final = (
    "No, that's wrong: the museum opens at ten on Sundays",
    "That isn't what I asked for, I need a room with a view",
    "Thanks, the cheaper flight you found works for me",
    "You gave me the wrong train earlier, it doesn't stop there",
    "Great, that fixed the printer",
    "I don't like the restaurant you suggested",
)
WARM, LOOKS, HEAVY_LOOKS, SEARCHES = 200, 2_000, 500, 50
WARM_SECONDS: Final = 3
READY_SECONDS: Final = 30.0
TOKEN: Final = "benchmark"
PLAIN: Final = "plain_vectors"


async def turn_index(
    folder: Path, turns: int, rate: int, seconds: int, seed: int, say: Say, plain: bool = False
) -> Any:
    """The figures: milliseconds, by what was asked."""
    async with EmbeddedPostgres(folder / "postgres", say) as postgres:
        url = await _without_pgvector(postgres.url) if plain else postgres.url
        pool = await open_pool(url, "inference", MIGRATIONS)
        try:
            filled = await fill(url, turns, time.time_ns() // 1_000, seed, say)
            index = PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder()))
            say("Looking through one person's turns")
            told: dict[str, Any] = {
                "turns": turns,
                "table_mb": filled.megabytes,
                "vectors": "real[]" if plain else "halfvec",
            }
            told |= await _directly(index, filled, random.Random(seed))
        finally:
            await pool.close()
        look_seldom()
        with _Server(url) as port:
            await _until_ready(port)
            for look_back in ("conversation", "user"):
                say(f"detect over HTTP, look_back {look_back}: {rate}/s for {seconds} s")
                told[f"detect_{look_back}_ms"] = await _over_http(port, filled, look_back, rate, seconds, seed)
    return told


async def _directly(index: PostgresTurnIndex, filled: Filled, chance: random.Random) -> dict[str, Any]:
    async def look(who: str) -> None:
        looked = Looked(TENANT, PROJECT, who, filled.until - MAX_AGE_US, filled.until + 1)
        assert await index.nearby(looked, chance.choice(SAYINGS))

    async def search(_: str) -> None:
        await index.search(Wanted(TENANT, PROJECT, text=chance.choice(SAYINGS)), 10)

    people = [chance.choice(filled.recent)[0] for _ in range(WARM + LOOKS)]
    await _timed(look, people[:WARM])
    return {
        "look_ms": _spread(await _timed(look, people[WARM:])),
        "look_of_heavy_ms": _spread(await _timed(look, [HEAVY] * HEAVY_LOOKS)),
        "strategies_like_a_question_ms": _spread(await _timed(search, [""] * SEARCHES)),
    }


async def _timed(work: Callable[[str], Any], on: Sequence[str]) -> list[float]:
    spent = []
    for one in on:
        began = time.perf_counter()
        await work(one)
        spent.append(time.perf_counter() - began)
    return spent


async def _over_http(port: int, filled: Filled, look_back: str, rate: int, seconds: int, seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    late: list[float] = []
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits, headers=headers) as http:

        async def one(due: float) -> None:
            who, conversation = chance.choice(filled.recent)
            said = {"text": chance.choice(SAYINGS), "user_id": who, "look_back": look_back}
            said["ts"] = format_instant(filled.until + 60_000_000)
            answer = await http.post(f"/conversations/{TENANT}/{PROJECT}/{conversation}/detect", json=said)
            answer.raise_for_status()
            late.append(time.perf_counter() - due)

        began = time.perf_counter()
        async with asyncio.TaskGroup() as asked:
            for number in range(rate * (WARM_SECONDS + seconds)):
                due = began + number / rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                asked.create_task(one(due))
                if number == rate * WARM_SECONDS:
                    late.clear()
    return _spread(late) | {"rate": rate, "seconds": seconds}


class _Server:
    """A process that answers on a port of its own while the block runs."""

    def __init__(self, url: str) -> None:
        self._port = free_port()
        self._command = [sys.executable, "-m", "benchmarks.run_detect", url, str(self._port), TOKEN]

    def __enter__(self) -> int:
        self._process = subprocess.Popen(self._command)
        return self._port

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


async def _until_ready(port: int) -> None:
    async with httpx.AsyncClient() as http, asyncio.timeout(READY_SECONDS):
        while True:
            try:
                await http.get(f"http://127.0.0.1:{port}/health/live")
            except httpx.TransportError:
                await asyncio.sleep(0.05)
            else:
                return


async def _without_pgvector(url: str) -> str:
    """A database for a user who may not make extensions in it."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"create role {PLAIN} login")
        await connection.execute(f"create database {PLAIN} owner {PLAIN}")
    finally:
        await connection.close()
    return url.replace("//postgres@/postgres?", f"//{PLAIN}@/{PLAIN}?")


def _spread(seconds: Sequence[float]) -> dict[str, Any]:
    ordered = sorted(seconds)
    p50, p99 = (round(1000 * ordered[int(len(ordered) * share)], 2) for share in (0.5, 0.99))
    return {"p50": p50, "p99": p99, "count": len(ordered)}


def main() -> None:
    """Prints a line a figure, or one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_index", description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--plain", action="store_true", help="without pgvector")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {text}", file=sys.stderr, flush=True)

    with scratch() as folder:
        told = uvloop.run(
            turn_index(folder, options.turns, options.rate, options.seconds, options.seed, say, options.plain)
        )
    told["load_average_at_end"] = round(os.getloadavg()[0], 1)
    if options.json:
        print(json.dumps(told))
        return
    for name, value in told.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
