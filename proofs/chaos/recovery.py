"""Recovery times: seconds from the end of a fault until the groups have read all records that the log held then."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from aiokafka import TopicPartition

from proofs.chaos.progress import AWAY, GROUPS, Positions, Progress

TARGET = 30.0
"""Maximum recovery time of a group, in seconds."""


@dataclass
class Waiting:
    """Group that has not yet read everything that was in the log at the end of its last fault."""

    fault: str
    since: float
    target: dict[TopicPartition, int] | None = None


class Recovery:
    """Recovery times of the groups. The time starts at the end of a group's last fault."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._under: Counter[str] = Counter()
        self._waiting: dict[str, Waiting] = {}
        self.seconds: list[tuple[float, str, str]] = []
        """Seconds, group and fault of every recovery."""

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
        return max((seconds for seconds, _, _ in self.seconds), default=0.0)

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
            elif all(committed[partition] >= end for partition, end in waiting.target.items()):
                self.seconds.append((now - waiting.since, group, waiting.fault))
                del self._waiting[group]

    def _note_late(self, group: str) -> None:
        waiting = self._waiting.pop(group, None)
        if waiting is not None and time.monotonic() - waiting.since > TARGET:
            self.seconds.append((time.monotonic() - waiting.since, group, waiting.fault))

    def close(self) -> None:
        """Record faults without a recovery so far as not recovered."""
        for group in GROUPS:
            self._note_late(group)
