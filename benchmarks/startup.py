"""Time from the command `agent-feedback up` until it is ready, on a new state folder, including the database's
creation."""

from __future__ import annotations

from pathlib import Path

from benchmarks.programs import Program
from benchmarks.workload import scratch


def startup(times: int) -> list[float]:
    """Return the duration of each start, in seconds."""
    with scratch() as folder:
        return [_start(folder / f"state{n}") for n in range(times)]


def up(state: Path) -> Program:
    """Start `agent-feedback up` on a state folder."""
    return Program("-m", "standalone", "up", "--state", str(state))


def _start(state: Path) -> float:
    program = up(state)
    try:
        return program.wait_until_ready()
    finally:
        program.stop()
