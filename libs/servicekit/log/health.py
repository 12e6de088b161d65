"""State of a consumer group that does not advance: held because of bugs, or waiting for a dependency."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from itertools import islice
from typing import Final

from servicekit.clock import Clock

WINDOW: Final = 1_000
"""Number of a topic's latest records that are counted."""
MOST_BUGS: Final = 100
"""Maximum number of bugs within WINDOW (10 %) before the group is held."""
IN_A_ROW: Final = 20
"""Number of consecutive records of a topic with bugs after which the group is held."""
PROBE_SECONDS: Final = 60.0
"""Seconds between two records that a held group attempts."""

Conversation = tuple[str, ...]


class Breaker:
    """Circuit breaker of a consumer group. A held group attempts one record per minute until a record succeeds.

    Bugs of a single conversation never hold a group, because a hostile record may be sent repeatedly.
    """

    def __init__(self) -> None:
        self._bugs: defaultdict[str, deque[Conversation | None]] = defaultdict(lambda: deque(maxlen=WINDOW))
        """For each of a topic's latest records, the conversation of a bug, or None if there was no bug."""
        self.topic = ""
        """Topic whose bugs hold the group; empty if the group is not held."""

    @property
    def held(self) -> bool:
        return bool(self.topic)

    def succeeded(self, records: Mapping[str, int]) -> None:
        """Count records without a bug, by topic. A success on the topic that holds the group releases the group."""
        for topic, count in records.items():
            if topic == self.topic:
                self.topic = ""
                self._bugs[topic].clear()
            self._bugs[topic].extend([None] * min(count, WINDOW))

    def failed(self, topic: str, conversation: Conversation) -> None:
        """Count a record that failed because of a bug, and hold the group if there are too many."""
        latest = self._bugs[topic]
        latest.append(conversation)
        in_a_row = list(islice(reversed(latest), IN_A_ROW))
        all_fail = len(in_a_row) == IN_A_ROW and None not in in_a_row and len(set(in_a_row)) > 1
        if all_fail or self._too_many(latest):
            self.topic = topic

    def _too_many(self, latest: deque[Conversation | None]) -> bool:
        bugs = Counter(latest)
        del bugs[None]
        return bugs.total() > MOST_BUGS and len(bugs) > 1


STUCK_SECONDS = 30.0
"""Seconds without progress after which a service is not ready."""


class Stall:
    """Time since which the current batch has made no progress, and the reason."""

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
        """Sentence for operators if the current batch has made no progress for half a minute, otherwise None."""
        if self._since is None:
            return None
        seconds = self._clock.monotonic() - self._since
        if seconds < STUCK_SECONDS:
            return None
        why = self._why or "its database or the log does not answer"
        return f"nothing it reads has gone through for {seconds:.0f} s: {why}"
