"""Latency and processor time of four processes at steady rates.

    python -m benchmarks.latency [--rates 200 1000] [--seconds S] [--rounds N]

The latency is the time from publishing an event until it is visible in the read model. The processor time is that of
the services with their child processes, PostgreSQL and Kafka, without the load generator and its polling.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.jobs import run
from benchmarks.run_latency import WARM_SECONDS
from benchmarks.servers import servers
from benchmarks.workload import Workload, scratch, source_of


async def _measure(source: Path, folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    runs = []
    async with servers(folder, _say, with_kafka=True) as shared:
        for number in range(options.rounds):
            for rate in options.rates:
                events = int(rate * (options.seconds + WARM_SECONDS))
                job = await shared.job(Workload(str(source), events, 1, f"l{number}r{rate}"), on_kafka=True)
                runs.append(await run("run_latency", job, str(rate)))
                _say(json.dumps(runs[-1]))
    return runs


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[200, 1_000], help="events per second")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with scratch() as folder:
        source, name = source_of(folder)
        runs = uvloop.run(_measure(source, folder, options))
    print(f"{options.seconds:.0f} s per run, {name}")
    for one in runs:
        visible, reactions = (f"p50 {of['p50']:6.1f}, p99 {of['p99']:6.1f} ms" for of in (one, one["reactions"]))
        print(
            f"{one['rate']:6.0f}/s: {visible}; reactions: {reactions}; processor time {one['cpu_ms']:5.2f} ms per event"
        )


if __name__ == "__main__":
    main()
