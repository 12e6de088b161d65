"""Latency of `detect` over HTTP with an index of a million turns.

    python -m benchmarks.turn_index [--turns N] [--rate N] [--seconds N]

Requests are sent at a constant rate, regardless of outstanding ones; the latency counts from the time when the request
was due. The server, this process and PostgreSQL share two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import uvloop

import inference.sql
from benchmarks.effort import Effort
from benchmarks.http_load import spread
from benchmarks.programs import Program
from benchmarks.turn_rows import PROJECT, TENANT, Filled, fill
from benchmarks.workload import Say, scratch
from contracts.instants import format_instant
from servicekit.db.pools import open_pool
from servicekit.garbage_collection import tune_gc
from standalone.embedded.postgres import EmbeddedPostgres

SAYINGS: Final = (
    "No, that's wrong: the museum opens at ten on Sundays",
    "That isn't what I asked for, I need a room with a view",
    "Thanks, the cheaper flight you found works for me",
    "You gave me the wrong train earlier, it doesn't stop there",
    "Great, that fixed the printer",
    "I don't like the restaurant you suggested",
)
OVER_HTTP: Final = {"http_alone": None, "detect_conversation": "conversation", "detect_user": "user"}
"""Values of `look_back` by the name of the measurement; `http_alone` is a request without any work."""
CONNECTIONS: Final = httpx.Limits(max_connections=100, max_keepalive_connections=100)
TOKEN: Final = "benchmark"
WARM_SECONDS: Final = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """Load of `rate` requests per second, for `seconds`, on the server at `port`.

    `pids` has the server's process ids.
    """

    port: int
    pids: Mapping[str, Sequence[int | None]]
    filled: Filled
    rate: int
    seconds: int

    async def measure(self, look_back: str | None, seed: int) -> dict[str, Any]:
        """Return the percentiles of the latency in milliseconds, and the CPU time per response.

        Latency is measured from the time when a request was due to its response.
        """
        chance = random.Random(seed)
        url, headers = f"http://127.0.0.1:{self.port}", {"Authorization": f"Bearer {TOKEN}"}
        late: list[float] = []
        warm = self.rate * WARM_SECONDS
        async with httpx.AsyncClient(base_url=url, headers=headers, limits=CONNECTIONS) as http:

            async def one(due: float) -> None:
                (await self._request(http, look_back, chance)).raise_for_status()
                late.append(time.perf_counter() - due)

            effort, began = Effort(self.pids), time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for number in range(warm + self.rate * self.seconds):
                    due = began + number / self.rate
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    group.create_task(one(due))
                    if number == warm:
                        late.clear()
                        effort = Effort(self.pids)
        spent = effort.until_now(len(late))
        cost = {name: spent[name] for name in ("cpu_ms_per_event", "others_share_of_cpu")}
        return spread(late) | {"rate": self.rate} | cost

    async def _request(self, http: httpx.AsyncClient, look_back: str | None, chance: random.Random) -> httpx.Response:
        if look_back is None:
            return await http.get("/health/live")
        who, conversation = chance.choice(self.filled.recent)
        body = {"text": chance.choice(SAYINGS), "user_id": who, "look_back": look_back}
        body["ts"] = format_instant(self.filled.until + 60_000_000)
        return await http.post(f"/conversations/{TENANT}/{PROJECT}/{conversation}/detect", json=body)


async def turn_index(folder: Path, turns: int, rate: int, seconds: int, seed: int, say: Say) -> dict[str, Any]:
    """Return the latencies in milliseconds, by query."""
    async with EmbeddedPostgres(folder / "postgres", say) as postgres:
        pool = await open_pool(postgres.url, "inference", inference.sql.SQL.schema)
        await pool.close()
        filled = await fill(postgres.url, turns, time.time_ns() // 1_000, seed, say)
        figures: dict[str, Any] = {"turns": turns, "table_mb": filled.megabytes}
        tune_gc()
        with Program("-m", "benchmarks.run_detect", postgres.url, TOKEN) as server:
            load = Asked(server.port, {"server": [server.pid], "postgres": [postgres.pid]}, filled, rate, seconds)
            for name, look_back in OVER_HTTP.items():
                say(f"{name} over HTTP: {rate}/s for {seconds} s")
                figures[f"{name}_ms"] = await load.measure(look_back, seed)
    return figures


def main() -> None:
    """Print one line per figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_index", description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {text}", file=sys.stderr, flush=True)

    with scratch() as folder:
        figures = uvloop.run(turn_index(folder, options.turns, options.rate, options.seconds, 1, say))
    for name, value in figures.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
