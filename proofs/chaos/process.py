"""One service as a process that the harness starts, observes and disturbs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from proofs.chaos.plan import VARIABLE
from standalone.embedded.processes import ended, spawn

TOKEN = "chaos-of-sixteen"
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}
ROOT = Path(__file__).resolve().parents[2]


def say(text: str) -> None:
    """Print progress on stderr, one line with the time of day."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


class ServiceProcess:
    """Process of `agent-feedback run NAME` that ends with the harness, with faults if its environment has a plan.

    Its log goes to `log`.
    """

    def __init__(self, name: str, environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self._log = log
        self._port: int | None = None
        self.began = time.monotonic()
        self.is_ended_by_harness = False
        """True if the harness ends the process."""
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        variables = {**os.environ, "AGENT_FEEDBACK_TOKEN": TOKEN, "PYTHONPATH": path, **environment}
        program = ["proofs.chaos.inside"] if VARIABLE in environment else ["standalone", "run"]
        with log.open("ab") as output:
            self.process: subprocess.Popen[bytes] = spawn(
                [sys.executable, "-m", *program, name, "--port", "0"],
                output=output,
                environment=variables,
                on_our_death=signal.SIGKILL,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self.process.poll()

    def signal(self, number: signal.Signals) -> None:
        if self.code is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        self.is_ended_by_harness = True
        self.signal(signal.SIGKILL)
        self.process.wait()

    async def terminate(self, seconds: float = 60.0) -> float:
        """Send SIGTERM, and SIGKILL after `seconds`; return the seconds until the end."""
        began = time.monotonic()
        self.is_ended_by_harness = True
        self.signal(signal.SIGTERM)
        if not await ended(self.process, seconds):
            say(f"{self.name} did not stop within {seconds:.0f} s; its last lines: {self.last_lines()}")
            self.kill()
        return time.monotonic() - began

    def last_lines(self) -> str:
        """Return the last five lines of the log."""
        return " | ".join(self._log.read_text(errors="replace").splitlines()[-5:])

    def peak_rss_mb(self) -> float:
        """Maximum resident memory in MB; 0 once the process has ended."""
        return status_mb(self.pid, "VmHWM")

    async def ask(self, path: str) -> str:
        """Return the body of the service's response, whatever its status; empty without one."""
        try:
            async with httpx.AsyncClient(timeout=3, trust_env=False, headers=AUTHORIZATION) as client:
                return (await client.get(f"http://127.0.0.1:{self.port}{path}")).text
        except httpx.HTTPError:
            return ""

    @property
    def port(self) -> int | None:
        """The HTTP port once the service runs, else None."""
        if self._port is None:
            for line in self._log.read_text(errors="replace").splitlines():
                if '"running"' in line and f'"{self.name}"' in line:
                    self._port = urlsplit(json.loads(line)["url"]).port
        return self._port

    async def running(self, seconds: float = 60.0) -> None:
        """Wait until the service reports that it runs. Raises RuntimeError if it ends or takes too long."""
        deadline = time.monotonic() + seconds
        while self.port is None:
            if self.code is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not run (exit {self.code}); see {self._log}")
            await asyncio.sleep(0.05)


def status_mb(pid: int, field: str) -> float:
    """Return a figure of `/proc/PID/status` in megabytes; 0 once the process has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0
