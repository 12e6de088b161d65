"""A process sees the wall clock that the harness sets; monotonic clocks stay correct."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proofs.chaos.wall_clock import LIBRARIES, WallClock

SHOWN = "import time, sys\nfor line in sys.stdin: print(time.time(), time.monotonic(), flush=True)"


@pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not installed (apt-get install libfaketime)")
def test_a_process_sees_the_jump_while_it_runs(tmp_path: Path) -> None:
    clock = WallClock(tmp_path / "clock")
    with subprocess.Popen(
        [sys.executable, "-c", SHOWN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **clock.environment},
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def ahead() -> tuple[float, float]:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            wall, counted = map(float, process.stdout.readline().split())
            return wall - time.time(), counted - time.monotonic()

        for seconds in (0, 3_600, -3_600):
            clock.set(seconds)
            deadline = time.monotonic() + 20
            while abs(ahead()[0] - seconds) > 60:
                assert time.monotonic() < deadline, f"it never saw {seconds:+d} s"
            assert abs(ahead()[1]) < 60
        process.stdin.close()
