"""Memory of `agent-feedback up` and its child processes after it has processed the sample.

The unit is the proportional set size. Issues are grouped before the measurement. The child process
that groups them is not included.

python -m benchmarks.memory
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import Final

import psutil

from benchmarks.workload import scratch

READY_SECONDS: Final = 180


def memory() -> dict[str, float]:
    """Return the memory in MiB by part: ours, PostgreSQL's, and the sum."""
    with scratch() as folder:
        state = str(folder / "state")
        process = subprocess.Popen(
            [sys.executable, "-m", "standalone", "up", "--port", "0", "--sample", "--state", state],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            deadline = time.monotonic() + READY_SECONDS
            while "Serving" not in (line := process.stderr.readline()):
                if not line or time.monotonic() > deadline:
                    raise AssertionError("`agent-feedback up` did not come to serve")
            return _shares(psutil.Process(process.pid))
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def _shares(root: psutil.Process) -> dict[str, float]:
    shares = {"ours": 0.0, "postgres": 0.0}
    for process in [root, *root.children(recursive=True)]:
        name = process.name()
        if "reporting.issues.process" in process.cmdline():  # runs only while issues are grouped
            continue
        part = "postgres" if "postgres" in name else "ours"
        shares[part] += process.memory_full_info().pss / 2**20
    return {part: round(size, 1) for part, size in {**shares, "all": sum(shares.values())}.items()}


if __name__ == "__main__":
    print(json.dumps(memory()))
