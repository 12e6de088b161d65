"""Circuit breaker that pauses a consumer after repeated bugs, so that a bad release cannot dead-letter a whole topic.

The breaker opens if more than a tenth of a topic's records fail. It also opens if several records fail in a row and, in
a test, no record of another conversation succeeds either (see `Delivery`).

A single bad record cannot open the breaker while others succeed, even if it is sent repeatedly, because only a few bugs
per conversation are counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from servicekit.clock import Clock

WINDOW = 1_000
"""Window size: number of a topic's latest records that are counted."""
WINDOW_SECONDS = 600.0
"""Time after which a record no longer counts, and a held topic is read at full speed again, in seconds."""
LIMIT = 0.10
"""Bug rate among the counted records above which the breaker opens."""
MINIMUM = 100
"""Minimum number of counted records for the bug rate to open the breaker."""
SAME_BUGS = 5
"""Number of consecutive bugs with the same signature after which the whole topic is suspected to fail."""
ANY_BUGS = 20
"""Number of consecutive bugs with any signatures after which the whole topic is suspected to fail."""
PER_CONVERSATION = 5
"""Maximum number of bugs of one conversation that count in the bug rate, because a hostile record may be sent
repeatedly."""
PROBE_SECONDS = 60.0
"""Seconds between a bug and the next attempt while the breaker is open."""

Conversation = tuple[str, ...]


class Bug(NamedTuple):
    """Bug in our own code that occurred while a record was handled.

    `signature` is a short description of the bug without user data.
    """

    signature: str
    conversation: Conversation


class _Run(NamedTuple):
    """Series of consecutive records without a bug, or a single record with a bug.

    `conversation` is set only for a bug that counts towards the bug rate.
    """

    at: float
    records: int
    conversation: Conversation | None


@dataclass
class _Topic:
    """Recent records of a topic, with the bugs that have occurred since a record last succeeded."""

    runs: deque[_Run] = field(default_factory=deque)
    bugs: Counter[Conversation] = field(default_factory=Counter)
    records: int = 0
    succeeded_at: float | None = None
    failing: list[Bug] = field(default_factory=list)
    condemned_at: float | None = None

    def add(self, run: _Run) -> None:
        self.runs.append(run)
        self.records += run.records
        if run.conversation is not None:
            self.bugs[run.conversation] += 1
        while self.records - self.runs[0].records >= WINDOW:
            self._forget()

    def expire(self, before: float) -> None:
        while self.runs and self.runs[0].at <= before:
            self._forget()
        if self.condemned_at is not None and self.condemned_at <= before:
            self.condemned_at = None
            self.failing.clear()

    def _forget(self) -> None:
        old = self.runs.popleft()
        self.records -= old.records
        if old.conversation is not None:
            self.bugs -= Counter([old.conversation])

    @property
    def fails_as_a_whole(self) -> bool:
        """True if the latest bugs suggest that every record of the topic fails."""
        same = self.failing[-SAME_BUGS:]
        one_bug = len(same) == SAME_BUGS and len({bug.signature for bug in same}) == 1
        return one_bug or len(self.failing) >= ANY_BUGS

    @property
    def fails_too_often(self) -> bool:
        return self.records >= MINIMUM and self.bugs.total() > LIMIT * self.records


class BugRateBreaker:
    """Circuit breaker of a consumer group.

    It considers the last 1,000 records of each topic that are at most ten minutes old. It opens if there are at least
    100 of them and more than 10 % failed because of bugs. It also opens if every record of a topic seems to fail.

    While the breaker is open, records are attempted in small batches. The first batch is a single record. After a
    success, the next batch is twice as large, until the breaker closes. After a bug, the next batch is again a single
    record, and it is attempted only after a minute.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._topics: defaultdict[str, _Topic] = defaultdict(_Topic)
        self._probe = 1
        self.resting = False
        """True if the next attempt has to wait for `PROBE_SECONDS`."""

    def handled(self, records: Mapping[str, int]) -> None:
        """Count records that were handled without a bug.

        Args:
            records: The number of records by topic.
        """
        was_open = self.open
        now = self._clock.monotonic()
        for name, count in records.items():
            topic = self._topics[name]
            topic.add(_Run(now, count, None))
            topic.succeeded_at = now
            topic.condemned_at = None
            topic.failing.clear()
        self._probe = self._probe * 2 if was_open and self.open else 1

    def failed(self, name: str, bug: Bug) -> None:
        """Count a record of the topic `name` that failed because of a bug."""
        topic = self._topics[name]
        counts = topic.bugs[bug.conversation] < PER_CONVERSATION
        topic.add(_Run(self._clock.monotonic(), 1, bug.conversation if counts else None))
        topic.failing = [*topic.failing[1 - ANY_BUGS :], bug]
        self._probe = 1
        self.resting = self.open

    def suspects(self, name: str) -> frozenset[Conversation]:
        """Return the conversations whose records failed last, if every record of the topic `name` may be failing.

        The caller then tests this with records of other conversations. If one of them succeeds, the caller calls
        `handled`; if all of them fail, it calls `condemn`.

        Returns:
            The conversations. The set is empty if the failures do not suggest this, or if the breaker is already open.
        """
        topic = self._topics[name]
        if self.open or not topic.fails_as_a_whole:
            return frozenset()
        return frozenset(bug.conversation for bug in topic.failing)

    def condemn(self, name: str) -> bool:
        """Open the breaker, because every record of the topic `name` seems to fail.

        Returns:
            False if the breaker stays closed, because only one conversation has failed and a record of the topic
                succeeded within the last ten minutes.
        """
        topic, now = self._topics[name], self._clock.monotonic()
        lately = topic.succeeded_at is not None and now - topic.succeeded_at < WINDOW_SECONDS
        if lately and len({bug.conversation for bug in topic.failing}) == 1:
            return False
        topic.condemned_at = now
        self.resting = True
        return True

    def rested(self) -> None:
        """Allow the next attempt after the delay."""
        self.resting = False

    @property
    def open(self) -> bool:
        return self.why is not None

    @property
    def why(self) -> str | None:
        """Reason why the breaker is open, without user text, or None if it is closed."""
        expired = self._clock.monotonic() - WINDOW_SECONDS
        for name, topic in self._topics.items():
            topic.expire(expired)
            if topic.condemned_at is not None:
                return f"its own code fails on every record of {name} ({topic.failing[-1].signature})"
            if topic.fails_too_often:
                return f"its own code keeps failing on what it reads from {name}"
        return None

    def allowed(self, records: int) -> int:
        """Return how many of the next `records` records may be attempted: all, or a few while the breaker is open."""
        return min(records, self._probe) if self.open else records
