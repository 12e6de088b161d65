"""Runs pytest in forks of a process that has imported third-party packages, because imports dominate short runs.

`python -m proofs.mutants.warm` reads one JSON request per line, `{"arguments": [...], "seconds": n}`, and answers each
with `{"status": exit status or null, "output": text}`; null means that the run took longer than `seconds`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_PACKAGES = (
    "aiokafka.admin", "asyncpg", "confluent_kafka", "fastapi.responses", "faststream.kafka", "httpx",
    "hypothesis.strategies", "jinja2", "jwt", "numpy", "prometheus_client", "pydantic_settings", "pymongo", "pytest",
    "pytest_asyncio", "rich.progress", "schemathesis", "starlette.requests", "structlog", "typer", "uvicorn", "yaml",
)  # fmt: skip
"""Packages that most tests import. None of this repository: a mutant may break those."""
_OPTIONS = ("-W", "ignore:Module already imported")
"""pytest wants to rewrite the assertions of its plugins before anything imports them."""


class WarmPytest:
    """A process that runs pytest in `folder`, one run at a time, until it is closed."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        own = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), str(Path(__file__).parents[2]))))
        self._folder = folder
        self._environment = {**environment, "PYTHONPATH": own}
        self._process = self._started()

    def run(self, arguments: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Return pytest's exit status and output.

        The status is None if the run took longer than `seconds`, or if the process ended, which is then started again.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = json.dumps({"arguments": arguments, "seconds": seconds})
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        if line := self._process.stdout.readline():
            answer = json.loads(line)
            return answer["status"], answer["output"]
        self.close()
        self._process = self._started()
        return None, ""

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "proofs.mutants.warm"], cwd=self._folder, env=self._environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip


def main() -> None:
    for package in _PACKAGES:
        importlib.import_module(package)
    for line in sys.stdin:
        request = json.loads(line)
        with tempfile.TemporaryFile() as output:
            status = _forked([*_OPTIONS, *request["arguments"]], request["seconds"], output.fileno())
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        print(json.dumps({"status": status, "output": text}), flush=True)


def _forked(arguments: list[str], seconds: float, output: int) -> int | None:
    child = os.fork()
    if child == 0:
        os.setsid()
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        import pytest

        raise SystemExit(pytest.main(arguments))
    ended, _, _ = select.select([waiting := os.pidfd_open(child)], [], [], seconds)
    os.close(waiting)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


if __name__ == "__main__":
    main()
