"""Clock of all services, which tests can replace, and the measured stages in which a batch is processed.

Outside a batch, `stage` does nothing. If a stage runs several times concurrently, its durations are added up.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from time import perf_counter
from typing import Final, Literal, NamedTuple, Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Return the current time in microseconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Return the time of a monotonic clock in seconds.

        The clock also advances while the process is stopped by a signal (SIGSTOP).
        """
        ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        return time.monotonic()


Stage = Literal["read", "detector", "encoder", "gate", "database", "produce", "commit"]


class StageSpan(NamedTuple):
    """Total duration of a stage in a batch, in seconds, with its first start and last end as `perf_counter` times."""

    seconds: float
    start: float
    end: float


class StageTimes:
    """Durations of the stages of a batch."""

    __slots__ = ("spans",)

    def __init__(self) -> None:
        self.spans: dict[Stage, StageSpan] = {}

    def add(self, name: Stage, start: float, end: float, seconds: float) -> None:
        """Add an interval to the stage `name`.

        Only `seconds` of the interval count towards the duration of the stage.
        """
        span = self.spans.get(name)
        if span is not None:
            seconds, start, end = span.seconds + seconds, min(span.start, start), max(span.end, end)
        self.spans[name] = StageSpan(seconds, start, end)

    def seconds(self, name: Stage) -> float:
        span = self.spans.get(name)
        return 0.0 if span is None else span.seconds


current_times: Final[ContextVar[StageTimes | None]] = ContextVar("current_times", default=None)
"""Stage durations of the batch that the current task processes; None without a batch."""


class stage:  # noqa: N801 # used like a function
    """Context manager that adds the duration of its block to a stage."""

    __slots__ = ("_name", "_start", "_times")

    def __init__(self, name: Stage) -> None:
        self._name: Stage = name

    def __enter__(self) -> None:
        self._times = current_times.get()
        if self._times is not None:
            self._start = perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._times is not None:
            end = perf_counter()
            self._times.add(self._name, self._start, end, end - self._start)
