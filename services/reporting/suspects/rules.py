"""Rule for bursts: one person gives equal verdicts on many turns within seconds. Pure.

The rule depends only on the times and contents of the person's verdicts in a project, so the marks do not depend on the
order of arrival. A wrong mark loses a real verdict, so the rule marks only clear cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from contracts.instants import MINUTE, SECOND

WINDOW: Final = 10 * SECOND
"""Length of the time windows in which verdicts are counted, in microseconds. Windows are aligned to the epoch."""
BURST_TURNS: Final = 20
"""Default of `REPORTING_BURST_TURNS`: the minimum number of turns in a burst."""
CONVERSATIONS: Final = 5
"""Minimum number of conversations in a burst, because an angry person may reject every answer of one conversation."""
INSTANTS: Final = 3
"""Minimum number of distinct timestamps in a burst.

An imported file with dates only has one timestamp per day, which does not show how fast the verdicts were given.
"""
CONTEXT: Final = 5 * MINUTE
"""Time before and after a window, in microseconds; a different verdict in it clears the window."""
_CONTEXT_WINDOWS: Final = CONTEXT // WINDOW


class VerdictWindow(NamedTuple):
    """A person's verdicts in a window of 10 s. `number` is the start of the window divided by WINDOW.

    `first` and `last` are the smallest and the greatest digest of the verdicts' contents. They are equal if all
    verdicts are equal.
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
        """Return True if at least `turns` turns, in enough conversations and timestamps, have equal verdicts."""
        enough = self.turns >= turns and self.conversations >= CONVERSATIONS and self.instants >= INSTANTS
        return enough and self.is_alike


def bursts(windows: Iterable[VerdictWindow], turns: int) -> list[int]:
    """Return the numbers of the windows with suspect verdicts, ascending; none if `turns` is 0.

    Suspect windows are bursts, and windows next to a burst with the same verdict. A window is not suspect if the person
    gave a different verdict within five minutes before or after it.
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
    """Range of minutes since the epoch, both ends included."""

    start: int
    end: int


AROUND: Final = 6
"""Number of minutes around a changed verdict in which marks may change: CONTEXT plus two windows, rounded up."""
_LONGEST: Final = 60


def spans(minutes: Iterable[int]) -> list[MinuteSpan]:
    """Return the ranges of minutes in which marks may change if verdicts changed in `minutes`.

    Adjacent ranges are merged up to about an hour, which bounds the rows that a query reads.
    """
    found: list[MinuteSpan] = []
    for minute in sorted(set(minutes)):
        start, end = minute - AROUND, minute + AROUND
        if found and start <= found[-1].end + 1 and end - found[-1].start <= _LONGEST:
            found[-1] = MinuteSpan(found[-1].start, end)
        else:
            found.append(MinuteSpan(start, end))
    return found
