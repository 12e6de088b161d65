"""Latency of `detect` over HTTP at a steady rate, with the server in a separate process."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from benchmarks.effort import Effort
from benchmarks.turn_rows import PROJECT, TENANT, Filled
from contracts.instants import format_instant

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
            async with asyncio.TaskGroup() as asked:
                for number in range(warm + self.rate * self.seconds):
                    due = began + number / self.rate
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    asked.create_task(one(due))
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
        said = {"text": chance.choice(SAYINGS), "user_id": who, "look_back": look_back}
        said["ts"] = format_instant(self.filled.until + 60_000_000)
        return await http.post(f"/conversations/{TENANT}/{PROJECT}/{conversation}/detect", json=said)


def spread(seconds: Sequence[float]) -> dict[str, Any]:
    """Return the count, the median and the 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    p50, p99 = (round(1000 * ordered[int(len(ordered) * share)], 2) for share in (0.5, 0.99))
    return {"p50": p50, "p99": p99, "count": len(ordered)}
