"""Registry of the detectors that judge new messages, with a warning if their versions differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import asyncpg

from inference import metrics
from inference.sql import SQL

CHECK_SECONDS: Final = 15.0
RECENT_MINUTES: Final = 5


class DetectorGroup:
    """Registry of the detectors that have judged messages recently.

    It registers the detector of this process and knows the versions of all recent ones.

    Args:
        judged: Returns the number of messages that this process has judged so far.
    """

    def __init__(self, pool: asyncpg.Pool, version: str, judged: Callable[[], int]) -> None:
        self._pool = pool
        self._version = version
        self._judged = judged
        self._noted = 0
        self.versions: Sequence[str] = ()

    async def check(self) -> None:
        """Register this process's detector if it has judged since the last call, and load the recent versions."""
        judged = self._judged()
        if judged != self._noted:
            await self._pool.execute(*SQL.note_detector(version=self._version))
            await self._pool.execute(*SQL.forget_detectors())
            self._noted = judged
        self.versions = [
            row["version"] for row in await self._pool.fetch(*SQL.recent_detectors(minutes=RECENT_MINUTES))
        ]
        metrics.DETECTORS.clear()
        for version in self.versions:
            metrics.DETECTORS.labels(version).set(1)

    @property
    def warnings(self) -> Sequence[str]:
        """A warning if detectors of different versions have judged recently."""
        if len(self.versions) < 2:
            return ()
        return (
            f"inference: {len(self.versions)} detectors have judged in the last {RECENT_MINUTES} minutes"
            f" ({', '.join(self.versions)}): once one is left, `agent-feedback rejudge --since` judges again what the"
            " others have",
        )
