"""Recovery times: seconds from the end of a fault until the groups have read all records that the log held then."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from aiokafka import TopicPartition

from proofs.chaos.progress import AWAY, GROUPS, Positions, Progress

TARGET = 30.0
"""Maximum recovery time of a group, in seconds."""
STEP = 5.0
"""Seconds between two counts of the records that a recovering group has not read."""


class Recovered(NamedTuple):
    """Recovery of a group: seconds from the end of the fault, and the records left to read every `STEP` seconds.

    Few records that stay are a group that stands still; many that fall are a backlog.
    """

    seconds: float
    group: str
    fault: str
    left: tuple[int, ...]

    def __str__(self) -> str:
        left = ", ".join(f"{count:,}" for count in self.left) or "unknown"
        return f"{self.group} took {self.seconds:.1f} s to recover from {self.fault}; left every {STEP:.0f} s: {left}"


@dataclass
class Waiting:
    """Group that has not yet read everything that was in the log at the end of its last fault."""

    fault: str
    since: float
    target: dict[TopicPartition, int] | None = None
    left: list[int] = field(default_factory=list)

    def ended(self, group: str, now: float) -> Recovered:
        return Recovered(now - self.since, group, self.fault, tuple(self.left))


class Recovery:
    """Recovery times of the groups. The time starts at the end of a group's last fault."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._under: Counter[str] = Counter()
        self._waiting: dict[str, Waiting] = {}
        self.all: list[Recovered] = []

    @asynccontextmanager
    async def under(self, fault: str, groups: Sequence[str], *, measured: bool = True) -> AsyncIterator[None]:
        """Disturb `groups` during the body; afterwards measure their recovery."""
        for group in groups:
            self._under[group] += 1
            self._note_late(group)
        try:
            yield
        finally:
            for group in groups:
                self._under[group] -= 1
                if measured and not self._under[group]:
                    self._waiting[group] = Waiting(fault, time.monotonic())

    def recovered(self, group: str) -> bool:
        return group not in self._waiting

    @property
    def slowest(self) -> float:
        return max((one.seconds for one in self.all), default=0.0)

    async def watch(self) -> None:
        """Check twice a second, until cancelled."""
        while True:
            with suppress(*AWAY):
                self.look(await self._progress.positions())
            await asyncio.sleep(0.5)

    def look(self, positions: Positions) -> None:
        now = time.monotonic()
        for group, waiting in list(self._waiting.items()):
            committed = positions.committed[group]
            if waiting.target is None:
                waiting.target = {partition: positions.ends[partition] for partition in committed}
                continue
            left = sum(max(0, end - committed[partition]) for partition, end in waiting.target.items())
            if now - waiting.since >= STEP * len(waiting.left):
                waiting.left.append(left)
            if not left:
                self.all.append(waiting.ended(group, now))
                del self._waiting[group]

    def _note_late(self, group: str) -> None:
        waiting = self._waiting.pop(group, None)
        if waiting is not None and time.monotonic() - waiting.since > TARGET:
            self.all.append(waiting.ended(group, time.monotonic()))

    def close(self) -> None:
        """Record faults without a recovery so far as not recovered."""
        for group in GROUPS:
            self._note_late(group)
