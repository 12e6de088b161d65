"""Wall time and CPU time of a block, by process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

import psutil


class Effort:
    """Measurement of effort, which starts when it is created.

    `others` has process ids by name. Their child processes are included, even if they have ended.
    """

    def __init__(self, others: Mapping[str, Iterable[int | None]]) -> None:
        self._others = {name: [pid for pid in pids if pid] for name, pids in others.items()}
        self._before = self._spent()
        self._machine = _machine()
        self._began = time.monotonic()

    def until_now(self, events: int) -> dict[str, Any]:
        """Return the seconds, the events per second, and the CPU time per event in milliseconds, by process.

        The result also has the share of our cores' time that other programs used.
        """
        seconds = time.monotonic() - self._began
        spent = self._spent()
        each = {name: round((spent[name] - self._before[name]) * 1_000 / events, 3) for name in spent}
        busy, total = (now - before for now, before in zip(_machine(), self._machine, strict=True))
        strangers = busy - sum(spent.values()) + sum(self._before.values())
        return {
            "events": events,
            "seconds": round(seconds, 3),
            "events_per_s": round(events / seconds, 1),
            "cpu_ms_per_event": each,
            "others_share_of_cpu": round(min(1.0, max(0.0, strangers / total)), 2) if total else None,
        }

    def _spent(self) -> dict[str, float]:
        own = os.times()
        spent = {"own": own.user + own.system}
        for name, pids in self._others.items():
            spent[name] = sum(_of(pid) for pid in pids)
        return spent


def _machine() -> tuple[float, float]:
    """Return the busy seconds and the total seconds of the cores that we may use."""
    each = psutil.cpu_times(percpu=True)
    ours = [each[number] for number in os.sched_getaffinity(0) if number < len(each)]
    total = sum(sum(times[:8]) for times in ours)
    return total - sum(times.idle + times.iowait for times in ours), total


def _of(pid: int) -> float:
    try:
        process = psutil.Process(pid)
        times = process.cpu_times()
        children = process.children(recursive=True)
    except psutil.NoSuchProcess:
        return 0.0
    spent = times.user + times.system + times.children_user + times.children_system
    for child in children:
        try:
            lately = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        spent += lately.user + lately.system
    return float(spent)
