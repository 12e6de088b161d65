"""Circuit breaker, which stops calls to a failing dependency except for occasional test calls."""

from __future__ import annotations

FAILURES_LIMIT = 5
"""Number of consecutive failures that opens the circuit."""
REST_SECONDS = 30.0
"""Seconds between two test calls while the circuit is open."""


class CircuitBreaker:
    """Circuit breaker that opens after `failures_limit` consecutive failures and closes after a success.

    All times are in seconds of the same monotonic clock.
    """

    def __init__(self, failures_limit: int = FAILURES_LIMIT, rest_seconds: float = REST_SECONDS) -> None:
        self._failures_limit = failures_limit
        self._rest_seconds = rest_seconds
        self._failures = 0
        self._rests_until = 0.0

    def lets_through(self, now: float) -> bool:
        """Return True if a call is allowed at the time `now`. An open breaker allows one call every `rest_seconds`."""
        if not self.open:
            return True
        if now < self._rests_until:
            return False
        # Schedule the next test call already, because this call may never report its result.
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
