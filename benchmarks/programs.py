"""Python programs that serve a port, each as a process that is measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from benchmarks.workload import scratch
from tests.support.ports import free_port


class Program:
    """Process of a Python program with the option `--port`. As a context, it is ready on entry and stopped on exit.

    `environment` has variables in addition to ours; `seconds` limits the start.
    """

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
        seconds: float = 120.0,
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._began, self._seconds = time.monotonic(), seconds
        self._process = subprocess.Popen(
            [python, *arguments, "--port", str(self.port)],
            env={**os.environ, **(environment or {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.pid = self._process.pid

    def wait_until_ready(self) -> float:
        """Return the seconds from the start until `/health/ready` succeeds. Raises AssertionError at the limit.

        The process must still be running: if it has ended, another server may have its port and respond instead.
        """
        while (seconds := time.monotonic() - self._began) < self._seconds:
            code = self._process.poll()
            assert code is None, f"the program on port {self.port} ended with exit code {code}"
            try:
                with urllib.request.urlopen(f"{self.url}/health/ready", timeout=2):
                    return time.monotonic() - self._began
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        raise AssertionError(f"the program on port {self.port} was not ready within {seconds:.0f} s")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def __enter__(self) -> Self:
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def up(state: Path) -> Program:
    """Start `agent-feedback up` on a state folder."""
    return Program("-m", "standalone", "up", "--state", str(state))


def startup(times: int) -> list[float]:
    """Return the time from the command `agent-feedback up` until it is ready, in seconds, on new state folders.

    It includes the creation of the database.
    """
    with scratch() as folder:
        return [_start(folder / f"state{n}") for n in range(times)]


def _start(state: Path) -> float:
    program = up(state)
    try:
        return program.wait_until_ready()
    finally:
        program.stop()
