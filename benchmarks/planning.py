"""Latency of `before_planning`: the whole platform in one process, one client, sequential requests.

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
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

import psutil

from agent_feedback_kit import AsyncClient, Channel, before_planning, events
from benchmarks.detect_over_http import SAYINGS

COMMAND: Final = Path(sys.executable).with_name("agent-feedback")
PATIENCE: Final = 5.0
"""Seconds that an ask may take here, so that slow ones are measured instead of cut."""
WARM: Final = 20


async def measure(asks: int, turns: int) -> dict[str, Any]:
    """Milliseconds of `asks` asks about a conversation of `turns` turns, and what was missing in them."""
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
    took: list[float] = []
    missing: Counter[str] = Counter()
    spent = 0.0
    for number in range(WARM + asks):
        if number == WARM:
            spent = _processor_seconds(platform)
        began = time.perf_counter()
        answer = await before_planning(
            client, "c1", SAYINGS[number % len(SAYINGS)], user_id="ann", turn_id=f"next{number}", budget=PATIENCE
        )
        if number >= WARM:
            took.append((time.perf_counter() - began) * 1_000)
            missing.update(answer.missing)
    processor = (_processor_seconds(platform) - spent) / asks * 1_000
    cuts = quantiles(took, n=100, method="inclusive")
    found = {f"p{p}_ms": round(cuts[p - 1], 1) for p in (50, 90, 99)}
    within = sum(one <= 50 for one in took) / len(took)
    return {
        "asks": asks,
        "turns": turns,
        **found,
        "within_50_ms": round(within, 3),
        "platform_processor_ms": round(processor, 1),
        "load": round(os.getloadavg()[0], 1),
        "missing": dict(missing),
    }


def _processor_seconds(platform: psutil.Process) -> float:
    """Return the CPU seconds used so far by the platform and its PostgreSQL."""
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
