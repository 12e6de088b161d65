"""Rule that detects bursts: a person gives the same verdict on many turns within seconds. No I/O.

The rule depends only on the times and contents of the person's verdicts in a project, so the result does not depend on
their order of arrival. A wrong mark loses a real verdict, so only clear cases are marked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from contracts.instants import MINUTE, SECOND

WINDOW: Final = 10 * SECOND
"""Length of the time windows in which verdicts are counted, in microseconds. Windows are aligned to the epoch."""
BURST_TURNS: Final = 20
"""Default of `REPORTING_BURST_TURNS`, the minimum number of turns in a burst."""
CONVERSATIONS: Final = 5
"""Minimum number of conversations in a burst, because an angry person may reject every answer in one conversation."""
INSTANTS: Final = 3
"""Minimum number of distinct timestamps in a burst.

If an imported file contains only dates, all verdicts of a day have the same timestamp. It does not show how quickly
they were given.
"""
CONTEXT: Final = 5 * MINUTE
"""Microseconds before and after a window in which a different verdict clears the window."""
_CONTEXT_WINDOWS: Final = CONTEXT // WINDOW


class VerdictWindow(NamedTuple):
    """A person's verdicts in a time window of 10 s.

    Attributes:
        number: Start of the window divided by WINDOW.
        first: Smallest digest of a verdict's content. It equals `last` if all verdicts are equal.
        last: Largest digest of a verdict's content.
    """

    number: int
    turns: int
    conversations: int
    instants: int
    first: str
    last: str

    @property
    def is_alike(self) -> bool:
        return self.first == self.last

    def is_burst(self, turns: int) -> bool:
        """Return True if all verdicts in the window are equal and there are enough of them for a burst.

        A burst covers at least `turns` turns and has enough conversations and distinct timestamps.
        """
        enough = self.turns >= turns and self.conversations >= CONVERSATIONS and self.instants >= INSTANTS
        return enough and self.is_alike


def bursts(windows: Iterable[VerdictWindow], turns: int) -> list[int]:
    """Return the numbers of the windows with suspect verdicts, in ascending order.

    A window is suspect if it is a burst, or next to a burst with the same verdict. It is not suspect if the person gave
    a different verdict within five minutes of it.

    Args:
        turns: Minimum number of turns in a burst, or 0 to disable the rule.
    """
    known = {one.number: one for one in windows}
    if not turns:
        return []
    found = []
    for number, one in sorted(known.items()):
        beside = (known.get(number + step) for step in (-1, 0, 1))
        belongs = any(other and other.is_burst(turns) and other.first == one.first for other in beside)
        if one.is_alike and belongs and _is_uniform(known, one):
            found.append(number)
    return found


def _is_uniform(known: dict[int, VerdictWindow], one: VerdictWindow) -> bool:
    near = range(one.number - _CONTEXT_WINDOWS, one.number + _CONTEXT_WINDOWS + 1)
    return all(known[other].first == known[other].last == one.first for other in near if other in known)


class MinuteSpan(NamedTuple):
    """Range of minutes since the epoch, both ends inclusive."""

    start: int
    end: int


AROUND: Final = 6
"""Number of minutes around a changed verdict in which marks may change: CONTEXT plus two windows, rounded up."""
_LONGEST: Final = 60


def spans(minutes: Iterable[int]) -> list[MinuteSpan]:
    """Return the time spans whose verdicts must be checked again.

    Args:
        minutes: Minutes in which verdicts changed. The marks of verdicts shortly before and after may change too.

    Returns:
        The spans. Adjacent spans are merged up to a length of about an hour, to limit the number of rows per query.
    """
    found: list[MinuteSpan] = []
    for minute in sorted(set(minutes)):
        start, end = minute - AROUND, minute + AROUND
        if found and start <= found[-1].end + 1 and end - found[-1].start <= _LONGEST:
            found[-1] = MinuteSpan(found[-1].start, end)
        else:
            found.append(MinuteSpan(start, end))
    return found
