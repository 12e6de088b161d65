"""Import of a file of judgements, twice: rows per second, and the changes that the second import makes (none).

    python -m benchmarks.data_import [--rows N]

`agent-feedback up` serves from another process on its own PostgreSQL and an in-process log; `agent-feedback import`
reads a CSV file of 20,000 people's judgements, one in a hundred of them invalid. Seconds are until every row is stored
and in the reports.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from benchmarks.workload import scratch
from contracts.topics import EXPLICIT_RECEIVED, FEEDBACK_CREATED, Topic

COMMAND: Final = Path(sys.executable).with_name("agent-feedback")
COLUMNS: Final = ("id", "conversation", "message", "agent", "person", "time", "verdict", "text")
INVALID_EACH: Final = 100
STATE: Final = {
    "stored": "select count(*), coalesce(max(revision), 0), "
    "md5(string_agg(feedback_id || ' ' || revision, ',' order by feedback_id)) from feedback.feedback",
    "reported": "select count(*), coalesce(max(revision), 0), "
    "md5(string_agg(feedback_id || ' ' || revision, ',' order by feedback_id)) from reporting.feedbacks",
}


def write_rows(path: Path, rows: int) -> None:
    """Write judgements since 2025 to a CSV file, five per conversation."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for n in range(rows):
            stars = 9 if n % INVALID_EACH == 0 else 1 + n % 5
            at = f"2025-{1 + n % 12:02}-{1 + n % 28:02}T{n % 24:02}:{n % 60:02}:00Z"
            out.writerow(
                (f"s{n}", f"c{n // 5}", f"m{n}", f"agent-{n % 40}", f"u{n % 20_000}", at, stars, "Some words.")
            )


@contextmanager
def serving(state: Path) -> Iterator[dict[str, Any]]:
    """Run all services. Yields the facts that the run leaves for other commands."""
    process = subprocess.Popen([COMMAND, "up", "--port", "0", "--state", state], stderr=subprocess.DEVNULL)
    try:
        while not (state / "run.json").exists():
            assert process.poll() is None, "the services did not start"
            time.sleep(0.1)
        yield json.loads((state / "run.json").read_text())
    finally:
        process.terminate()
        process.wait()


async def until_read(bootstrap: str) -> None:
    """Wait until the store has consumed all judgements, and then the reports all announcements."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await admin.start()
    await consumer.start()
    try:
        for group, topic in (("feedback", EXPLICIT_RECEIVED), ("reporting", FEEDBACK_CREATED)):
            while await _behind(admin, consumer, group, topic):
                await asyncio.sleep(0.05)
    finally:
        await consumer.stop()
        await admin.close()


async def _behind(admin: AIOKafkaAdminClient, consumer: AIOKafkaConsumer, group: str, topic: Topic) -> bool:
    lanes = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
    ends = await consumer.end_offsets(lanes)
    read = await admin.list_consumer_group_offsets(group, partitions=lanes)
    return any(ends[lane] > max(read[lane].offset, 0) for lane in lanes)


async def state_of(database: str) -> dict[str, tuple[Any, ...]]:
    connection = await asyncpg.connect(database)
    try:
        return {name: tuple(await connection.fetchrow(query) or ()) for name, query in STATE.items()}
    finally:
        await connection.close()


def imported(file: Path, state: Path) -> dict[str, Any]:
    columns = [part for one in COLUMNS for part in ("--column", f"{one}={one}")]
    verdicts = [part for one in ("4..5=ok", "3=neutral", "1..2=not_ok") for part in ("--verdict", one)]
    where = ("--tenant", "acme", "--project", "imported", "--state", state, "--json")
    done = subprocess.run([COMMAND, "import", file, *where, *columns, *verdicts], stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data_import", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    asked = parser.parse_args()
    figures: dict[str, Any] = {"rows": asked.rows}
    with scratch() as folder:
        file = folder / "ratings.csv"
        write_rows(file, asked.rows)
        with serving(folder / "state") as run:
            states = []
            for number in ("first", "second"):
                began = time.monotonic()
                result = imported(file, folder / "state")
                published = time.monotonic() - began
                asyncio.run(until_read(run["broker"]))
                figures[number] = {
                    "sent": sum(result["sent"].values()),
                    "rejected": result["rejections"],
                    "publish_seconds": round(published, 1),
                    "seconds": round(time.monotonic() - began, 1),
                }
                states.append(asyncio.run(state_of(run["database"])))
    before, after = states
    figures |= {
        "feedback_records": after["stored"][0],
        "new_in_second": after["stored"][0] - before["stored"][0],
        "same_revisions": before == after,
    }
    print(json.dumps(figures))
    assert before == after, f"the second import changed {before} to {after}"


if __name__ == "__main__":
    main()
