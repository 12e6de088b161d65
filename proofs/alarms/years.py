"""Simulation of an agent's verdicts, hour by hour, and of the alert rules that test them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contracts.instants import DAY, MINUTE
from reporting.alerts.decisions import BEFORE_DAYS, AlertEvidence, AlertState, Subject, findings
from reporting.alerts.rules import ShareRule
from reporting.figures.votes import Votes

HOUR: Final = 60 * MINUTE
FIRST_DAY: Final = 20_000
"""First simulated day, counted from 1970-01-01."""
WARM_UP: Final = BEFORE_DAYS + 7
"""Days of history before the first look."""
_AGENT: Final = Subject("agent")
_WEEKEND: Final = (2, 3)
"""Saturday and Sunday as `day % 7`, with days counted from 1970-01-01."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Weekly pattern of an agent's verdicts. `daily` is their mean number in a day; `base` is the share of ok, 0 to 1.

    Weekends have `quiet` times as many as working days, and a share that is lower by `dip`.
    """

    daily: float
    base: float = 0.85
    quiet: float = 0.4
    dip: float = 0.03

    def hour(self, draw: random.Random, day: int, lower: float = 0.0) -> Votes:
        """Draw an hour's verdicts; `lower` is subtracted from the share."""
        is_weekend = day % 7 in _WEEKEND
        working = 7 / (5 + 2 * self.quiet)
        rate = self.daily * working * (self.quiet if is_weekend else 1) / 24
        of_weekend = 2 * self.quiet / (5 + 2 * self.quiet)
        share = self.base + self.dip * of_weekend - (self.dip if is_weekend else 0) - lower
        total = poisson(draw, rate)
        ok = sum(draw.random() < share for _ in range(total))
        return Votes(ok, 0, total - ok)


def poisson(draw: random.Random, mean: float) -> int:
    """Draw from a Poisson distribution by exponential gaps."""
    count, at = 0, draw.expovariate(1.0)
    while at < mean:
        count, at = count + 1, at + draw.expovariate(1.0)
    return count


def alarms(rule: ShareRule, rhythm: Rhythm, days: int, seed: int) -> int:
    """Return the number of alerts about an agent that does not change, in `days` of looks every hour."""
    return sum(1 for _ in _fired(rule, rhythm, days, random.Random(seed), drop=0.0))


def hours_to_report(rule: ShareRule, rhythm: Rhythm, drop: float, within: int, seed: int) -> int | None:
    """Return the hours until a drop at a random hour of the week is reported, or None after `within` days."""
    draw = random.Random(seed)
    return next(_fired(rule, rhythm, within, draw, drop, draw.randrange(7 * 24)), None)


def _fired(
    rule: ShareRule, rhythm: Rhythm, days: int, draw: random.Random, drop: float, begin: int = 0
) -> Iterator[int]:
    """Yield the hours of looks, from the first one, at which an alert begins."""
    daily: defaultdict[int, Votes] = defaultdict(Votes)
    changed = WARM_UP * 24 + begin
    state = AlertState()
    for hour in range(changed + days * 24):
        day = FIRST_DAY + hour // 24
        daily[day] += rhythm.hour(draw, day, drop if hour >= changed else 0.0)
        if hour < changed:
            continue
        daily.pop(day - WARM_UP, None)
        now = FIRST_DAY * DAY + (hour + 1) * HOUR - 1
        evidence = AlertEvidence(now, {("people", _AGENT): daily})
        found = next(iter(findings(rule, evidence, {_AGENT: state})), None)
        if state.open is None and found is not None:
            yield hour + 1 - changed
            state = AlertState(found, state.ended_at)
        elif state.open is not None and found is None:
            state = AlertState(None, now)
