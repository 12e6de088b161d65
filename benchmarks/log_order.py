"""Counts of a run over a backlog, repeated on the same input.

    python -m benchmarks.log_order [--events N] [--runs N] [--memory]

All events are in the log, in order, before the services start. Each run has the same bytes and an empty database, so
runs should agree: `parked_per_event` (events that overtook the message they refer to), `inferred_records` (records
written to feedback.inferred.received) and `verdicts` (a digest of the inferred feedback records without revisions).
Rates depend on the machine; counts do not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.jobs import run
from benchmarks.servers import servers
from benchmarks.workload import Workload, scratch, source_of

SHOWN = (
    "parked_per_event",
    "inferred_records",
    "records_per_event",
    "wal_bytes_per_event",
    "live_verdicts",
    "verdicts",
)


async def _measure(source: Path, folder: Path, events: int, runs: int, on_kafka: bool) -> list[dict[str, Any]]:
    found = []
    async with servers(folder, _say, with_kafka=on_kafka) as shared:
        for _ in range(runs):
            job = await shared.job(Workload(str(source), events, 1, "backlog"), on_kafka=on_kafka)
            found.append(await run("run_backlog", job))
            _say(json.dumps(found[-1]))
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log_order", description=__doc__)
    parser.add_argument("--events", type=int, default=16_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="the in-process broker instead of Kafka")
    options = parser.parse_args()
    with scratch() as folder:
        source, name = source_of(folder)
        found = uvloop.run(_measure(source, folder, options.events, options.runs, not options.memory))
    print(f"{options.events:,} events of the {name}, {'in-process broker' if options.memory else 'Kafka'}")
    for figure in SHOWN:
        print(f"{figure:20}", *(f"{one[figure]:>14}" for one in found))


if __name__ == "__main__":
    main()
