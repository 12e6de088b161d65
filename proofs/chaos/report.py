"""Report of a run: a table for people and one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from proofs.chaos.compare import Finding
from proofs.chaos.fault_table import TESTED_BY, Promise
from proofs.chaos.recovery import TARGET

STOP_LIMIT = 20.0
RSS_LIMIT = 300.0
"""Maximum memory of a process of a service, in MB."""


@dataclass
class Result:
    """Result of one run, with maximum seconds and megabytes."""

    seed: int
    events: int
    faults: dict[str, int]
    findings: Sequence[Finding]
    kills: dict[str, int]
    stops: Sequence[float]
    max_recovery_s: float
    peak_rss_mb: dict[str, float]
    """Maximum memory by service, in MB."""
    wrong: list[str] = field(default_factory=list)
    """Further errors, in words."""

    def __post_init__(self) -> None:
        slow = [seconds for seconds in self.stops if seconds > STOP_LIMIT]
        if slow:
            self.wrong.append(f"{len(slow)} of {len(self.stops)} stops took more than 20 s (up to {max(slow):.0f} s)")
        if self.max_recovery_s > TARGET:
            self.wrong.append(f"a recovery took {self.max_recovery_s:.0f} s, more than {TARGET:.0f}")
        for name, peak in self.peak_rss_mb.items():
            if peak > RSS_LIMIT:
                self.wrong.append(f"{name} held {peak:.0f} MB, more than {RSS_LIMIT:.0f}")

    @property
    def holds_its_memory(self) -> bool:
        return all(peak <= RSS_LIMIT for name, peak in self.peak_rss_mb.items())

    @property
    def max_rss_mb(self) -> float:
        return max(self.peak_rss_mb.values())

    @property
    def ok(self) -> bool:
        return not self.wrong and all(finding.holds for finding in self.findings)

    def count(self, *whats: str) -> tuple[int, int]:
        """Return lost and extra of the findings named in `whats`; without names, of all others."""
        chosen = [f for f in self.findings if (f.what in whats if whats else f.promise != "P4")]
        return sum(f.lost for f in chosen), sum(f.extra for f in chosen)

    def as_json(self) -> str:
        lost, extra = self.count()
        missing, _ = self.count("last announcements", "what compaction keeps", "a fresh consumer after compaction")
        _, orphans = self.count("announced states", "last announcements", "a fresh consumer after compaction")
        return json.dumps(
            {
                "seed": self.seed,
                "events": self.events,
                "faults": sum(self.faults.values()),
                "lost": lost,
                "extra": extra,
                "missing_announcements": missing,
                "orphan_announcements": orphans,
                "kills": self.kills,
                "max_recovery_s": round(self.max_recovery_s, 1),
                "max_rss_mb": round(self.max_rss_mb, 1),
                "peak_rss_mb": {name: round(peak, 1) for name, peak in self.peak_rss_mb.items()},
                "verdict": "ok" if self.ok else "failed",
            }
        )


def print_result(result: Result) -> None:
    """Print the table on stdout, then the first differences, and the JSON object as the very last line."""
    table = Table("promise", "compared", "faults injected", "events checked", "lost", "extra", "verdict")
    for finding in result.findings:
        tested = sum(result.faults.get(fault, 0) for fault in TESTED_BY[finding.promise])
        table.add_row(
            finding.promise,
            finding.what,
            str(tested),
            f"{finding.checked:,}",
            str(finding.lost),
            str(finding.extra),
            "holds" if finding.holds else "BROKEN",
        )
    stops_ok = all(seconds <= STOP_LIMIT for seconds in result.stops)
    slowest = max(result.stops, default=0.0)
    table.add_row("P7", f"recovery by itself, {result.max_recovery_s:.1f} s at most", _sum(result, "P7"), "", "", "",
                  _verdict(result.max_recovery_s <= TARGET))  # fmt: skip
    table.add_row("P7", f"memory, {result.max_rss_mb:.0f} MB at most", _sum(result, "P7"), "", "", "",
                  _verdict(result.holds_its_memory))  # fmt: skip
    table.add_row("P8", "consumers coming and going", _sum(result, "P8"), f"{result.events:,}", "", "",
                  _verdict(all(f.holds for f in result.findings)))  # fmt: skip
    table.add_row(
        "P9", f"normal stops, {slowest:.1f} s at most", str(len(result.stops)), "", "", "", _verdict(stops_ok)
    )
    Console(width=140).print(table)
    print(f"Faults: {', '.join(f'{name} {count}' for name, count in sorted(result.faults.items()))}")
    for line in [*(finding.first for finding in result.findings if finding.first), *result.wrong]:
        print(f"  {line}")
    sys.stderr.flush()
    print(result.as_json(), flush=True)


def _sum(result: Result, promise: Promise) -> str:
    return str(sum(result.faults.get(fault, 0) for fault in TESTED_BY[promise]))


def _verdict(holds: bool) -> str:
    return "holds" if holds else "BROKEN"
