"""Memory of each service when it becomes ready, in an environment with only its own extra.

python -m benchmarks.service_memory [--command "agent-feedback run"]

--command replaces the started command; the service's name is appended. It runs in the current environment.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

from benchmarks.servers import servers
from benchmarks.workload import scratch
from tests.support.extra_alone import environment_of
from tests.support.ports import free_port

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")
READY_SECONDS = 60


async def memory(command: str | None, folder: Path) -> dict[str, tuple[float, float]]:
    """Return the memory of each service in MiB: resident, and not shared with other processes."""
    async with servers(folder, lambda text: print(text, file=sys.stderr), with_kafka=True) as shared:
        if shared.kafka is None:
            raise SystemExit(f"No Kafka can run here: {shared.why}")
        found = {}
        for service in SERVICES:
            alone = [str(environment_of(service, folder / service)), "-m", service] if command is None else None
            start = alone or [*shlex.split(command or ""), service]
            found[service] = _one(start, service, shared.kafka.bootstrap, shared.postgres.url)
        return found


def _one(command: list[str], service: str, broker: str, database: str) -> tuple[float, float]:
    port = free_port()
    variables = {
        **os.environ,
        f"{service.upper()}_BROKER": broker,
        f"{service.upper()}_DATABASE_URL": database,
        "FEEDBACK_STORE_URL": database,
        "AGENT_FEEDBACK_TOKEN": "measuring-memory",
    }
    process = subprocess.Popen([*command, "--port", str(port)], env=variables, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while not _ready(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{service} did not become ready")
            time.sleep(0.1)
        held = psutil.Process(process.pid).memory_full_info()
        return held.rss / 2**20, held.uss / 2**20
    finally:
        process.terminate()
        process.wait()


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service_memory", description=__doc__)
    parser.add_argument("--command", help="what starts a service, instead of `python -m`")
    options = parser.parse_args()
    with scratch() as folder:
        for service, (resident, own) in asyncio.run(memory(options.command, folder)).items():
            print(f"{service:12} {resident:4.0f} MiB resident, {own:4.0f} MiB its own")


if __name__ == "__main__":
    main()
