"""Print false alarms and reported drops of simulated agents: `python -m proofs.alarms`.

An agent's verdicts are simulated hour by hour, and the alert rules test them every hour.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contracts.instants import DAY, MINUTE
from reporting.alerts.decisions import BEFORE_DAYS, AlertEvidence, AlertState, Subject, findings
from reporting.alerts.rules import SatisfactionBelow, SatisfactionDropped, ShareRule
from reporting.figures.votes import Votes

DROPPED: Final = SatisfactionDropped(kind="satisfaction_dropped", name="dropped")
RULES: Final[tuple[ShareRule, ...]] = (
    DROPPED,
    SatisfactionBelow(kind="satisfaction_below", name="below-.82", below=0.82),
    SatisfactionBelow(kind="satisfaction_below", name="below-.85", below=0.85),
)
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
    count, passed = 0, draw.expovariate(1.0)
    while passed < mean:
        count, passed = count + 1, passed + draw.expovariate(1.0)
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
        finding = next(iter(findings(rule, evidence, {_AGENT: state})), None)
        if state.open is None and finding is not None:
            yield hour + 1 - changed
            state = AlertState(finding, state.ended_at)
        elif state.open is not None and finding is None:
            state = AlertState(None, now)


def main(agents: int = 10, drops: int = 200, days: int = 365) -> int:
    """Run the simulation. Return 1 unless false alarms stay below one a month and agent, and 90 % of drops are
    reported."""
    has_missed = False
    print(f"Uneventful: {days} days, base rate .85, weekends with less feedback and a lower share")
    for rule in RULES:
        for daily in (20, 200):
            false = sum(alarms(rule, Rhythm(daily), days, seed) for seed in range(agents))
            monthly = false / agents / days * 365 / 12
            has_missed |= monthly >= 1
            print(f"  {rule.name}, {daily} verdicts a day: {monthly:.3f} false alarms a month and agent", flush=True)
    print("Drop from .85 to .75 at a random hour of the week, 200 verdicts a day")
    for volume, quiet in (("every day", 1.0), ("on average, fewer at weekends", 0.4)):
        hours = [hours_to_report(DROPPED, Rhythm(200, quiet=quiet), 0.10, 2, seed) for seed in range(drops)]
        in_time = [one for one in hours if one is not None]
        has_missed |= quiet == 1 and len(in_time) < 0.9 * drops
        median = f", median {statistics.median(in_time):.0f} h" if in_time else ""
        print(f"  {volume}: {len(in_time) / drops:.1%} of {drops} reported within two days{median}", flush=True)
    return int(has_missed)


if __name__ == "__main__":
    sys.exit(main())
