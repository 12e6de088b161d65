"""Measure, print a table, and write the figures to benchmarks/results/latest.json (--quick: quick.json).

python -m benchmarks [--quick] [--no-kafka] [--rounds N] [--seed S] [--out FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.http_rates import http_rates
from benchmarks.inference_throughput import judging
from benchmarks.measuring import FULL, QUICK, Measured, Measuring, Plan
from benchmarks.memory import memory
from benchmarks.programs import startup
from benchmarks.report_pages import report_pages
from benchmarks.results import (
    RESULTS,
    conditions,
    details,
    figures,
    print_result,
    write,
)
from benchmarks.servers import servers
from benchmarks.stored_bytes import stored_bytes
from benchmarks.turn_index import turn_index
from benchmarks.workload import Say, scratch, source_of

CORES = 2
"""Number of cores used for every measurement. Other cores of a larger machine stay idle."""
DETECT_RATE = 50
"""Requests per second."""


async def _measure(
    plan: Plan, source: Path, folder: Path, seed: int, kafka: bool, say: Say
) -> tuple[Measured, dict[str, Any], str]:
    async with servers(folder, say, with_kafka=kafka) as shared:
        measured = await Measuring(shared, source, seed, plan, say).all()
        say("HTTP")
        http = await http_rates(
            shared, source, seconds=plan.http_seconds, rounds=plan.rounds, clients=(16, 64), say=say
        )
        return measured, http, shared.why


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of short runs")
    parser.add_argument("--no-kafka", action="store_true", help="the in-process broker only")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--events", type=int, help="chat events of each run of the pipeline")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    # Costs that `sizing` states come from the file of the full run.
    out = options.out or (RESULTS.with_name("quick.json") if options.quick else RESULTS)
    plan = QUICK if options.quick else FULL
    plan = replace(plan, rounds=options.rounds or plan.rounds, events=options.events or plan.events)
    # The runs are child processes and inherit the limit to these cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {text}", file=sys.stderr, flush=True)

    with scratch() as folder:
        source, name = source_of(folder)
        say(f"Measuring with the {name}")
        measured, http, why = uvloop.run(_measure(plan, source, folder, options.seed, not options.no_kafka, say))
        say("Memory")
        mebibytes = memory()
        say("Judging messages")
        judged = judging(plan.rounds, source)
    if why:
        say(f"Without Kafka: {why}")
    say("Disk")
    with scratch() as folder:
        stored = asyncio.run(stored_bytes(folder, plan.events))
    say(f"Start-up, {plan.starts} times")
    starts = startup(plan.starts)
    say(f"An index of {plan.turns:,} turns")
    with scratch() as folder:
        looked = uvloop.run(turn_index(folder, plan.turns, DETECT_RATE, plan.latency_seconds, options.seed, say))
    pages = {}
    for feedbacks in plan.reports:
        say(f"Pages over {feedbacks:,} feedbacks")
        pages[str(feedbacks)] = uvloop.run(report_pages(feedbacks, 5, say))
    result = {
        "pipeline": figures(measured, starts),
        "http": http,
        "memory": mebibytes,
        "stored_bytes": stored,
        "judging": judged,
        "turn_index": looked,
        "reports": pages,
        "conditions": conditions(plan, name, options.seed, time.monotonic() - began, why),
        "runs": details(measured),
    }
    write(result, out)
    print_result(result)
    say(f"Written to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
