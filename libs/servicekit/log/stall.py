"""Detection of batches that make no progress, with the duration and the reason for operators."""

from __future__ import annotations

from servicekit.clock import Clock

STUCK_SECONDS = 30.0
"""Seconds without progress after which a service is not ready."""


class Stall:
    """Progress of the current batch."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None
        self._why = ""

    def mark_progress(self) -> None:
        """Record that a batch has begun or that part of it is done."""
        self._since = self._clock.monotonic()
        self._why = ""

    def mark_waiting(self, why: str) -> None:
        """Record that the batch cannot continue. `why` is the reason, without user text."""
        self._why = why

    def mark_idle(self) -> None:
        """Record that no batch is being processed."""
        self._since = None

    @property
    def reason(self) -> str | None:
        """Reason if the current batch has made no progress for half a minute, otherwise None."""
        if self._since is None:
            return None
        seconds = self._clock.monotonic() - self._since
        if seconds < STUCK_SECONDS:
            return None
        why = self._why or "its database or the log does not answer"
        return f"nothing it reads has gone through for {seconds:.0f} s: {why}"
