"""Circuit breaker: stops calls to a failing dependency, and lets one call through to test it."""

from __future__ import annotations

FAILURES_LIMIT = 5
"""Consecutive failures that open the circuit."""
REST_SECONDS = 30.0
"""Seconds between two test calls while the circuit is open."""


class CircuitBreaker:
    """Open from `failures_limit` consecutive failures until a success. Times are seconds of one monotonic clock."""

    def __init__(self, failures_limit: int = FAILURES_LIMIT, rest_seconds: float = REST_SECONDS) -> None:
        self._failures_limit = failures_limit
        self._rest_seconds = rest_seconds
        self._failures = 0
        self._rests_until = 0.0

    def lets_through(self, now: float) -> bool:
        """Return True if a call may be made at `now`. An open breaker passes one call each `rest_seconds`."""
        if not self.open:
            return True
        if now < self._rests_until:
            return False
        # The next test call waits as long, so that one without a reported result does not block the circuit.
        self._rests_until = now + self._rest_seconds
        return True

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, now: float) -> None:
        self._failures += 1
        if self.open:
            self._rests_until = now + self._rest_seconds

    @property
    def open(self) -> bool:
        return self._failures >= self._failures_limit
