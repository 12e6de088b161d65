"""Rule for bursts: one person gives many turns equal verdicts within seconds. Pure.

It depends only on the times and contents of the person's verdicts in a project, so any order of arrival gives the same
marks. A wrong mark loses a real verdict, so the rule marks clear cases only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from contracts.instants import MINUTE, SECOND

WINDOW: Final = 10 * SECOND
"""Width of the windows in which verdicts are counted, in microseconds. Windows are aligned to the epoch."""
BURST_TURNS: Final = 20
"""Minimum number of turns in a burst, unless `REPORTING_BURST_TURNS` names another."""
CONVERSATIONS: Final = 5
"""Minimum number of conversations in a burst, because an angry person may reject every answer of one conversation."""
INSTANTS: Final = 3
"""Minimum number of different times in a burst: an imported file with dates only has one time per day, which says
nothing about speed."""
CONTEXT: Final = 5 * MINUTE
"""A window is not suspect if the person gave a different verdict within this time of it, in microseconds."""
_CONTEXT_WINDOWS: Final = CONTEXT // WINDOW


class VerdictWindow(NamedTuple):
    """A person's verdicts in a window of 10 s. `number` is its start divided by WINDOW.

    `first` and `last` are the smallest and the greatest digest of a verdict's content: they are equal if all verdicts
    are equal.
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
        """Return True if at least `turns` turns of several conversations have equal verdicts."""
        enough = self.turns >= turns and self.conversations >= CONVERSATIONS and self.instants >= INSTANTS
        return enough and self.is_alike


def bursts(windows: Iterable[VerdictWindow], turns: int) -> list[int]:
    """Return the numbers of the windows whose verdicts are suspect, in order; none if `turns` is 0.

    They are the bursts, and the windows next to one with equal verdicts. A window is not suspect if the person gave a
    different verdict within five minutes of it.
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
    """Minutes since the epoch, both included."""

    start: int
    end: int


AROUND: Final = 6
"""Minutes before and after a changed verdict in which marks may change: CONTEXT and two windows, rounded up."""
_LONGEST: Final = 60


def spans(minutes: Iterable[int]) -> list[MinuteSpan]:
    """Return the spans of minutes whose marks may change, for verdicts that changed in `minutes`.

    Adjacent spans are merged up to about an hour, which bounds the rows that a query reads.
    """
    found: list[MinuteSpan] = []
    for minute in sorted(set(minutes)):
        start, end = minute - AROUND, minute + AROUND
        if found and start <= found[-1].end + 1 and end - found[-1].start <= _LONGEST:
            found[-1] = MinuteSpan(found[-1].start, end)
        else:
            found.append(MinuteSpan(start, end))
    return found
