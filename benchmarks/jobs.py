"""Measured runs in separate processes: their input, their output, and how they are started."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

import uvloop
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from benchmarks.workload import Workload


@dataclass(frozen=True, slots=True)
class Job:
    """Input of a run. If `bootstrap` is None, the run starts an in-process broker.

    `postgres` and `kafka` are the servers' process ids, or None.
    """

    workload: Workload
    database_url: str
    bootstrap: str | None
    postgres: int | None
    kafka: int | None


class RunFailed(RuntimeError):
    """A run has failed. The message has the end of its output."""


async def run(module: str, job: Job, *arguments: str) -> dict[str, Any]:
    """Run `benchmarks.<module>` in a process, and return its result."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"benchmarks.{module}",
        json.dumps(asdict(job)),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, errors = await process.communicate()
    except asyncio.CancelledError:
        process.terminate()
        await process.wait()
        raise
    if process.returncode:
        raise RunFailed(f"benchmarks.{module}: {errors.decode(errors='replace')[-3000:]}")
    measured: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    return measured


def answer(measure: Callable[[Job], Coroutine[Any, Any, dict[str, Any]]]) -> None:
    """Read the job from the command line, measure, and print the result."""
    fields = json.loads(sys.argv[1])
    job = Job(**{**fields, "workload": Workload(**fields["workload"])})
    print(json.dumps(uvloop.run(measure(job))))


@asynccontextmanager
async def log_with(job: Job, topics: Mapping[str, int]) -> AsyncIterator[str]:
    """Yield the address of a log with `topics` (numbers of partitions by name). Missing topics are created."""
    if job.bootstrap is None:
        from standalone.embedded.memory_broker import MemoryBroker

        with MemoryBroker(topics) as memory:
            yield memory.bootstrap
        return
    admin = AIOKafkaAdminClient(bootstrap_servers=job.bootstrap)
    await admin.start()
    try:
        there = set(await admin.list_topics())
        missing = [NewTopic(name, partitions, 1) for name, partitions in topics.items() if name not in there]
        if missing:
            await admin.create_topics(missing)
    finally:
        await admin.close()
    yield job.bootstrap
