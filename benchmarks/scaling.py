"""Throughput by number of cores and processes, with the bottleneck.

python -m benchmarks.scaling [--events N] [--cores 1,2]

Everything keeps to the cores of its row: services, driver, Kafka and PostgreSQL. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import uvloop

from benchmarks.jobs import run
from benchmarks.run_four_processes import SERVICES
from benchmarks.servers import servers
from benchmarks.workload import Say, Workload, scratch, source_of

FULL: Final = 0.9
"""Minimum utilisation at which a core, or all cores together, count as fully used."""
HEAD: Final = "| cores | processes | events a second | processor ms an event | cores taken | busiest | what binds |"


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of the services: one process for all (`each` 0), or `each` processes per service."""

    each: int

    @property
    def processes(self) -> int:
        return self.each * len(SERVICES) or 1

    async def measure(self, job: Any) -> dict[str, Any]:
        return await (run("run_four_processes", job, str(self.each)) if self.each else run("run_one_process", job))

    def busy(self, measured: Mapping[str, Any]) -> dict[str, float]:
        """Return the utilisation of one core by each of our processes, by name."""
        cost, rate = measured["cpu_ms_per_event"], measured["events_per_s"]
        split = dict.fromkeys(SERVICES, self.each) if self.each else {"own": 1}
        return {name: cost[name] * rate / 1_000 / each for name, each in split.items()}


LAYOUTS: Final = (Layout(0), Layout(1), Layout(2))


def row(cores: int, layout: Layout, measured: Mapping[str, Any]) -> str:
    """Return one row of the table."""
    cost, rate = measured["cpu_ms_per_event"], measured["events_per_s"]
    used = sum(cost.values()) * rate / 1_000
    strangers = (measured["others_share_of_cpu"] or 0.0) * cores
    busy = layout.busy(measured)
    name, most = max(busy.items(), key=lambda one: one[1])
    busiest = "the process" if name == "own" else f"each {name}" if layout.each > 1 else name
    if used + strangers >= FULL * cores:
        binds = "the cores" if strangers < 0.1 * cores else f"the cores ({strangers:.1f} of them taken by others)"
    else:
        binds = busiest if most >= FULL else "waiting for each other"
    costs = ", ".join(f"{part} {ms:.3f}" for part, ms in cost.items())
    cells = (cores, layout.processes, f"{rate:,.0f}", costs, f"{used:.2f}", f"{busiest} {most:.0%} of a core", binds)
    return f"| {' | '.join(map(str, cells))} |"


async def rows(source: Path, events: int, cores: int, folder: Path, say: Say) -> list[str]:
    """Return the table's rows for a number of cores. This process and its children are limited to these cores."""
    async with servers(folder, say, with_kafka=True) as shared:
        if shared.kafka is None:
            raise SystemExit(f"No Kafka can run here: {shared.why}")
        lines = []
        for number, layout in enumerate(LAYOUTS):
            workload = Workload(str(source), events, 1, f"s{cores}{number}")
            say(f"{cores} cores, {layout.processes} processes ...")
            lines.append(row(cores, layout, await layout.measure(await shared.job(workload, on_kafka=True))))
        return lines


def _table(options: argparse.Namespace, allowed: list[int], say: Say) -> Iterator[str]:
    yield HEAD
    yield "|---" * (HEAD.count("|") - 1) + "|"
    for cores in options.cores:
        os.sched_setaffinity(0, allowed[:cores])
        with scratch() as folder:
            source, _ = source_of(folder)
            yield from uvloop.run(rows(source, options.events, cores, folder, say))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--events", type=int, default=16_000, help="chat events of each run")
    parser.add_argument("--cores", type=lambda text: [int(part) for part in text.split(",")], help="such as 1,2")
    options = parser.parse_args()
    allowed = sorted(os.sched_getaffinity(0))
    options.cores = options.cores or [cores for cores in (1, 2, 4, 8) if cores <= len(allowed)]
    if max(options.cores) > len(allowed):
        parser.error(f"this machine has {len(allowed)} cores for us")
    for line in _table(options, allowed, lambda text: print(text, file=sys.stderr, flush=True)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
