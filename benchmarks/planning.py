"""Latency of `before_planning` with the last answer passed in: one process, one client, sequential requests.

For comparison, each question is also sent as three concurrent requests: `detect` without the answer, `latest` and
`strategies/search`. The two alternate.

python -m benchmarks.planning [--asks N] [--turns N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

import psutil

from agent_feedback_kit import AsyncClient, Channel, before_planning, events
from agent_feedback_kit.answers import PreviousAnswer
from benchmarks.detect_over_http import SAYINGS

COMMAND: Final = Path(sys.executable).with_name("agent-feedback")
PATIENCE: Final = 5.0
"""Timeout of a request in seconds, long enough to measure slow ones."""
WARM: Final = 20
Way = Callable[[AsyncClient, int, int], Awaitable[bool]]
"""Request with this number, about a conversation with this many turns. Returns False if the response was incomplete."""


async def measure(asks: int, turns: int) -> dict[str, Any]:
    """Return the latency of `asks` requests in milliseconds, and the number of requests without a response.

    The requests are about a conversation with `turns` turns.
    """
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        state = Path(folder) / "state"
        process = await asyncio.create_subprocess_exec(
            *(str(COMMAND), "up", "--port", "0", "--state", str(state)), stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        try:
            while b"Serving" not in await process.stderr.readline():
                assert process.returncode is None, "it ended before it served"
            run = json.loads((state / "run.json").read_text())
            async with AsyncClient(run["url"], token=run["token"], tenant="demo", project="bench") as client:
                await _fill(client, turns)
                return await _ask(client, asks, turns, psutil.Process(process.pid))
        finally:
            process.terminate()
            await process.wait()


async def _fill(client: AsyncClient, turns: int) -> None:
    channel = Channel("demo", "bench", "c1")
    made = []
    for turn in range(turns):
        text = SAYINGS[turn % len(SAYINGS)]
        made.append(events.message(channel, f"q{turn}", f"{text} {turn}", sender_id="ann", turn_id=f"t{turn}"))
        made.append(
            events.message(
                channel, f"a{turn}", f"Answer {turn}", sender_id="bot", agent_id="bot", turn_id=f"t{turn}", strategy="s"
            )
        )
    await events.publish_over_http(client, *made)
    while not (await client.detect("c1", "No, that's wrong.", user_id="ann"))["target"]:
        await asyncio.sleep(0.1)


async def _ask(client: AsyncClient, asks: int, turns: int, platform: psutil.Process) -> dict[str, Any]:
    """Send each request in both ways, alternately, so that both are measured under the same load."""
    ways: dict[str, Way] = {"one_request": _at_once, "three_requests": _in_three}
    took: dict[str, list[float]] = {name: [] for name in ways}
    spent = dict.fromkeys(ways, 0.0)
    missing: Counter[str] = Counter()
    for number in range(WARM + asks):
        for name, way in ways.items():
            worked, began = _processor_seconds(platform), time.perf_counter()
            answered = await way(client, number, turns)
            milliseconds = (time.perf_counter() - began) * 1_000
            if number >= WARM:
                took[name].append(milliseconds)
                spent[name] += _processor_seconds(platform) - worked
                missing[name] += not answered
    figures = {
        name: _figures(times) | {"processor_ms": round(spent[name] / asks * 1_000, 1)} for name, times in took.items()
    }
    return {"asks": asks, "turns": turns, **figures, "load": round(os.getloadavg()[0], 1), "missing": dict(missing)}


async def _at_once(client: AsyncClient, number: int, turns: int) -> bool:
    previous: PreviousAnswer = {
        "message_id": f"a{turns - 1}",
        "turn_id": f"t{turns - 1}",
        "agent_id": "bot",
        "content": f"Answer {turns - 1}",
        "strategy": "s",
        "question": f"{SAYINGS[(turns - 1) % len(SAYINGS)]} {turns - 1}",
    }
    said = SAYINGS[number % len(SAYINGS)]
    asked = {"user_id": "ann", "turn_id": f"next{number}", "agent_id": "bot"}
    found = await before_planning(client, "c1", said, previous=previous, budget=PATIENCE, **asked)
    return found.detected is not None


async def _in_three(client: AsyncClient, number: int, turns: int) -> bool:
    said = SAYINGS[number % len(SAYINGS)]
    found = await asyncio.gather(
        client.detect("c1", said, user_id="ann", turn_id=f"next{number}"),
        client.latest("c1"),
        client.search_strategies(text=said),
        return_exceptions=True,
    )
    return not any(isinstance(one, BaseException) for one in found)


def _figures(took: list[float]) -> dict[str, float]:
    cuts = quantiles(took, n=100, method="inclusive")
    within = sum(one <= 50 for one in took) / len(took)
    return {f"p{p}_ms": round(cuts[p - 1], 1) for p in (50, 90, 99)} | {"within_50_ms": round(within, 3)}


def _processor_seconds(platform: psutil.Process) -> float:
    """Return the CPU time that the platform and its PostgreSQL have used so far, in seconds."""
    times = [one.cpu_times() for one in (platform, *platform.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--asks", type=int, default=300, help="asks that are measured (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=20, help="turns of the conversation (default: %(default)s)")
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure(options.asks, options.turns))))


if __name__ == "__main__":
    main()
