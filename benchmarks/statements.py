"""Database work of each consumer group for the same input: statements, round trips, row writes, WAL and CPU time.

    python -m benchmarks.statements [--events N] [--batch N ...] [--rounds N] [--against CHECKOUT]

The handlers run on an embedded PostgreSQL without Kafka, each on the events that the groups before it published.
`trips` are round trips in the steady state: one per statement, two per COPY. Python's CPU time includes parsing of
events, encoding and the detector, but no log. `--against` also runs the services of another checkout of this
repository, in turn on the same server, and prints `ratio`: the median over the rounds of the figure here divided by
the figure there. Counts are equal in each run; CPU times are comparable only within one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import asyncpg
import uvloop
from asyncpg.connection import Connection

from benchmarks.effort import Effort
from benchmarks.groups import Groups
from benchmarks.handled import Collected, received
from benchmarks.workload import Workload, scratch, source_of
from detector.detector import Detector
from servicekit.garbage_collection import tune_gc
from servicekit.log.messages import Message
from standalone.embedded.postgres import EmbeddedPostgres

ROOT: Final = Path(__file__).parents[1]
FIGURES: Final = (
    "statements",
    "trips",
    "trips_per_event",
    "row_writes",
    "hot_updates",
    "wal",
    "python_ms",
    "postgres_ms",
)
"""Names of the figures.

Statements, trips and CPU milliseconds are per batch, the others per event; `wal` is in bytes.
"""
_WRITES: Final = """
select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint, coalesce(sum(n_tup_hot_upd), 0)::bigint
from pg_stat_user_tables where schemaname = $1
"""


class Count:
    """Number of statements and COPY commands on this process's connections."""

    def __init__(self) -> None:
        self.statements = self.copies = 0
        copy = Connection.copy_records_to_table

        async def copied(*args: Any, **named: Any) -> Any:
            self.copies += 1
            return await copy(*args, **named)

        Connection.copy_records_to_table = copied  # type: ignore[method-assign]

    async def watch(self, connection: asyncpg.Connection) -> None:
        connection.add_query_logger(self._logged)

    def _logged(self, _: object) -> None:
        self.statements += 1

    @property
    def now(self) -> tuple[int, int]:
        return self.statements + self.copies, self.statements + 2 * self.copies


async def measure(url: str, pid: int, source: str, events: int, batch: int) -> dict[str, dict[str, float]]:
    """Return the figures of each group for `events` chat events, handled in batches."""
    detector, count, found = Detector.default(), Count(), {}
    derived, inferred, announced = Collected(), Collected(), Collected()
    groups = Groups(url, detector, derived, inferred, announced, count.watch)
    messages = Workload(source, events, seed=1, run="statements").messages()
    connection = await asyncpg.connect(url)
    inputs: Mapping[str, Callable[[], Sequence[Message]]] = {
        "chat_bridge": lambda: messages,
        "feedback_turns": lambda: [one for one in messages if "reaction" not in one.topic],
        "inference": lambda: [one for one in messages if "reaction" not in one.topic],
        "feedback": lambda: mixed(derived.sent, inferred.sent),
        "inference_status": lambda: announced.sent,
        "reporting": lambda: mixed([one for one in messages if "reaction" not in one.topic], announced.sent),
    }
    tune_gc()
    for name, given in inputs.items():
        records = [received(message) for message in given()]
        warm = len(records) // 10 + 1
        batches = [records[first : first + batch] for first in range(warm, len(records), batch)]
        schema = name.partition("_turns")[0].partition("_status")[0]
        async with getattr(groups, name)() as handler:
            await handler.handle(records[:warm])  # plans and caches
            await asyncio.sleep(0.2)
            written, wal = await _written(connection, schema), await _wal(connection)
            before, effort = count.now, Effort({"postgres": [pid]})
            for one in batches:
                await handler.handle(one)
            spent = effort.until_now(1)["cpu_ms_per_event"]
            wal = await _wal(connection) - wal
            statements, trips = (now - was for now, was in zip(count.now, before, strict=True))
        rows, hot = (now - was for now, was in zip(await _written(connection, schema), written, strict=True))
        n, handled = max(1, len(batches)), max(1, len(records) - warm)
        values = (statements / n, trips / n, trips / handled, rows / handled, hot / handled, wal / handled)
        found[name] = dict(zip(FIGURES, (*values, spent["own"] / n, spent["postgres"] / n), strict=True))
    await connection.close()
    return found


def mixed(first: Sequence[Message], second: Sequence[Message]) -> list[Message]:
    """Merge two lists, each spread evenly over the result."""
    placed = [(place / len(given), message) for given in (first, second) for place, message in enumerate(given)]
    return [message for _, message in sorted(placed, key=lambda one: one[0])]


async def _wal(connection: asyncpg.Connection) -> float:
    return float(await connection.fetchval("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


async def _written(connection: asyncpg.Connection, schema: str) -> tuple[int, int]:
    """Return the row writes and HOT updates in a schema. Backends report them when they end, at the latest."""
    await asyncio.sleep(1.1)
    [(rows, hot)] = await connection.fetch(_WRITES, schema)
    return rows, hot


async def _run(code: Path, server: EmbeddedPostgres, number: int, arguments: Mapping[str, Any]) -> Any:
    """Return the figures of the services in the checkout `code`, measured in a separate process and database."""
    name = f"statements_{number}"
    connection = await asyncpg.connect(server.url)
    await connection.execute(f"create database {name}")
    await connection.execute("checkpoint")
    url = server.url.replace("/postgres?", f"/{name}?")
    paths = os.pathsep.join(str(folder) for folder in (code / "libs", code / "services", ROOT))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.statements", "--job", json.dumps({**arguments, "url": url})),
        env=os.environ | {"PYTHONPATH": paths},
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()
    return json.loads(told)


async def _compare(options: argparse.Namespace) -> None:
    checkouts = [ROOT, *([options.against.resolve()] if options.against else [])]
    number = 0
    with scratch() as folder:
        source, name = source_of(folder)
        async with EmbeddedPostgres(folder / "postgres", lambda text: print(text, file=sys.stderr)) as server:
            print(f"{options.events:,} events of the {name}, {options.rounds} rounds")
            for batch in options.batch:
                found: list[list[Any]] = []
                arguments = {"pid": server.pid, "source": str(source), "events": options.events, "batch": batch}
                for turn in range(options.rounds):
                    order = checkouts if turn % 2 else checkouts[::-1]
                    runs = {}
                    for code in order:
                        number += 1
                        runs[code] = await _run(code, server, number, arguments)
                    found.append([runs[code] for code in checkouts])
                _show(batch, found)


def _show(batch: int, found: Sequence[Sequence[Any]]) -> None:
    print(f"\nbatches of {batch}\n{'group':17}", *(f"{figure:>16}" for figure in FIGURES))
    for group in found[0][0]:
        here = [median(runs[0][group][figure] for runs in found) for figure in FIGURES]
        print(f"{group:17}", *(f"{value:16.2f}" for value in here))
        if len(found[0]) > 1:
            ratios = (
                median(runs[0][group][figure] / (runs[1][group][figure] or 1) for runs in found) for figure in FIGURES
            )
            print(f"{'  ratio':17}", *(f"{value:16.2f}" for value in ratios))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statements", description=__doc__)
    parser.add_argument("--events", type=int, default=4_000)
    parser.add_argument("--batch", type=int, nargs="+", default=[4, 500])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(uvloop.run(measure(**json.loads(options.job)))))
    else:
        uvloop.run(_compare(options))


if __name__ == "__main__":
    main()
