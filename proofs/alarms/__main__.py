"""Print false alarms and reported drops of simulated agents: `python -m proofs.alarms`."""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from proofs.alarms.years import Rhythm, alarms, hours_to_report
from reporting.alerts.rules import SatisfactionBelow, SatisfactionDropped, ShareRule

RULES: dict[str, ShareRule] = {
    "dropped": SatisfactionDropped(kind="satisfaction_dropped", name="dropped"),
    "below .82": SatisfactionBelow(kind="satisfaction_below", name="below", below=0.82),
    "below .85": SatisfactionBelow(kind="satisfaction_below", name="below", below=0.85),
}
MONTH = 365 / 12


def main() -> int:
    """Run the simulation. Return 1 if a figure misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m proofs.alarms", description=__doc__)
    parser.add_argument("--agents", type=int, default=10, help="simulated agents of each uneventful year")
    parser.add_argument("--drops", type=int, default=200, help="simulated drops")
    parser.add_argument("--days", type=int, default=365, help="days of an uneventful year")
    asked = parser.parse_args()
    began, missed = time.monotonic(), False
    print(
        f"Uneventful: {asked.days} days, base rate .85, weekends with less feedback and a lower share; looks every hour"
    )
    for name, rule in RULES.items():
        for daily in (20, 200):
            found = [alarms(rule, Rhythm(daily), asked.days, seed) for seed in range(asked.agents)]
            monthly = sum(found) / asked.agents / asked.days * MONTH
            missed |= monthly >= 1
            print(
                f"  {name}, {daily} verdicts a day: {monthly:.3f} false alarms a month and agent"
                f" (limit 1; {sum(found)} in {asked.agents} agents)",
                flush=True,
            )
    print("Drop from .85 to .75 at a random hour of the week, 200 verdicts a day; looks every hour")
    for name, volume, quiet in (("dropped", "every day", 1.0), ("dropped", "on average, fewer at weekends", 0.4)):
        hours = [hours_to_report(RULES[name], Rhythm(200, quiet=quiet), 0.10, 2, seed) for seed in range(asked.drops)]
        in_time = [one for one in hours if one is not None]
        share = len(in_time) / asked.drops
        missed |= quiet == 1 and share < 0.9
        median = f", median {statistics.median(in_time):.0f} h" if in_time else ""
        print(f"  {name}, {volume}: {share:.1%} of {asked.drops} reported within two days{median}", flush=True)
    print(f"{time.monotonic() - began:.0f} s")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
