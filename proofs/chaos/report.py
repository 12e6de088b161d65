"""Report of a run: a table for people and one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from proofs.chaos.compare import Finding
from proofs.chaos.recovery import TARGET

STOP_LIMIT = 20.0
RSS_LIMIT = 300.0
"""Maximum memory of a process of a service, in MB."""


@dataclass
class Result:
    """Result of one run, with maximum seconds, and maximum memory by service in MB. `wrong` has errors in words."""

    seed: int
    events: int
    faults: dict[str, int]
    findings: Sequence[Finding]
    stops: Sequence[float]
    max_recovery_s: float
    peak_rss_mb: dict[str, float]
    wrong: list[str]

    def __post_init__(self) -> None:
        slow = [seconds for seconds in self.stops if seconds > STOP_LIMIT]
        if slow:
            self.wrong.append(f"{len(slow)} of {len(self.stops)} stops took more than 20 s (up to {max(slow):.0f} s)")
        if self.max_recovery_s > TARGET:
            self.wrong.append(f"a recovery took {self.max_recovery_s:.0f} s, more than {TARGET:.0f}")
        for name, peak in self.peak_rss_mb.items():
            if peak > RSS_LIMIT:
                self.wrong.append(f"{name} used {peak:.0f} MB, more than {RSS_LIMIT:.0f}")

    @property
    def errors(self) -> list[str]:
        """The first difference of each comparison, and all other errors."""
        return [*(finding.first for finding in self.findings if not finding.holds), *self.wrong]

    @property
    def verdict(self) -> str:
        return "failed" if self.errors else "ok"


def print_result(result: Result) -> None:
    """Print the table and the errors on stdout, and the JSON object as the very last line."""
    table = Table("promise", "compared", "checked", "lost", "extra", "verdict")
    for one in result.findings:
        counts = (f"{count:,}" for count in (one.checked, one.lost, one.extra))
        table.add_row(one.promise, one.what, *counts, "holds" if one.holds else "BROKEN")
    Console(width=140).print(table)
    for line in result.errors:
        print(f"  {line}")
    sys.stderr.flush()
    figures = {
        "seed": result.seed,
        "events": result.events,
        "faults": dict(sorted(result.faults.items())),
        "lost": sum(finding.lost for finding in result.findings),
        "extra": sum(finding.extra for finding in result.findings),
        "max_recovery_s": round(result.max_recovery_s, 1),
        "max_stop_s": round(max(result.stops, default=0.0), 1),
        "peak_rss_mb": {name: round(peak, 1) for name, peak in result.peak_rss_mb.items()},
        "verdict": result.verdict,
    }
    print(json.dumps(figures), flush=True)
