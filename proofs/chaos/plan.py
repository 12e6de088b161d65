"""Fault plan of a service process, passed through its environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

VARIABLE = "CHAOS_PLAN"
Point = Literal["before_publish", "after_publish", "before_commit", "in_rebalance"]
POINTS: tuple[Point, ...] = ("before_publish", "after_publish", "before_commit", "in_rebalance")
"""Points of a crash: between write and announcement, between announcement and commit, and before the commit of a
batch."""
Bug = Literal[
    "auto_commit", "parser_raises_on_header", "forget_failed_dead_letter", "accept_without_write", "resend_later"
]


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan in which the process kills itself with SIGKILL when it passes `die_at` for the `die_after`th time.

    `clock_ahead` (seconds, may be negative) shifts the clock of its own code. `refuse_letters` (0 to 1) is the share of
    writes of dead letters that fail once as if the broker were unavailable.
    """

    die_at: Point | None = None
    die_after: int = 1
    clock_ahead: float = 0.0
    refuse_letters: float = 0.0
    bug: Bug | None = None

    def environment(self) -> dict[str, str]:
        return {VARIABLE: json.dumps(asdict(self))}


def plan_from(environment: Mapping[str, str]) -> Plan:
    """Return the plan of this process; an empty one if none is set."""
    return Plan(**json.loads(environment.get(VARIABLE, "{}")))
