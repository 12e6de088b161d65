"""Memory of each service when it becomes ready, in an environment with only its own extra, and with all.

python -m benchmarks.service_memory
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import psutil

from benchmarks.programs import Program
from benchmarks.servers import servers
from benchmarks.workload import scratch
from tests.support.extra_alone import environment_of

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")


async def print_memory(folder: Path) -> None:
    async with servers(folder, lambda text: print(text, file=sys.stderr), with_kafka=True) as shared:
        if shared.kafka is None:
            raise SystemExit(f"No Kafka can run here: {shared.why}")
        for service in SERVICES:
            variables = {
                f"{service.upper()}_BROKER": shared.kafka.bootstrap,
                f"{service.upper()}_DATABASE_URL": shared.postgres.url,
                "FEEDBACK_STORE_URL": shared.postgres.url,
                "AGENT_FEEDBACK_TOKEN": "measuring-memory",
            }
            for extras, python in (("all", sys.executable), ("its", str(environment_of(service, folder / service)))):
                with Program("-m", service, environment=variables, python=python) as program:
                    memory = psutil.Process(program.pid).memory_full_info()
                print(f"{service:12} {extras} extras: {memory.rss / 2**20:4.0f} MiB resident,"
                      f" {memory.uss / 2**20:4.0f} MiB its own")  # fmt: skip


if __name__ == "__main__":
    with scratch() as folder:
        asyncio.run(print_memory(folder))
