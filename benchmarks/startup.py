"""Time from the command `agent-feedback up` until it is ready, on a new state folder, including the database's
creation."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.workload import scratch
from tests.support.ports import free_port

READY_SECONDS = 120


def startup(times: int) -> list[float]:
    """Return the duration of each start, in seconds."""
    with scratch() as folder:
        return [_one(folder / f"state{n}") for n in range(times)]


def middle(seconds: list[float]) -> float:
    return round(median(seconds), 2)


def _one(state: Path) -> float:
    with running(state) as up:
        return up.seconds


class Up(NamedTuple):
    """A ready `agent-feedback up`: its process, its address, and the time that its start took, in seconds."""

    process: subprocess.Popen[bytes]
    url: str
    seconds: float


@contextmanager
def running(state: Path) -> Iterator[Up]:
    """Run `agent-feedback up` on a state folder, without output. Raises AssertionError if it does not become ready."""
    port = free_port()
    command = [sys.executable, "-m", "standalone", "up", "--port", str(port), "--state", str(state)]
    url = f"http://127.0.0.1:{port}"
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield Up(process, url, _ready(url, began))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _ready(url: str, began: float) -> float:
    """Wait until the services are ready. Return the seconds since `began`."""
    while time.monotonic() - began < READY_SECONDS:
        try:
            with urllib.request.urlopen(f"{url}/health/ready", timeout=2):
                return time.monotonic() - began
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise AssertionError(f"`agent-feedback up` was not ready within {READY_SECONDS} s")
