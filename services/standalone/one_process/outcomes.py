"""Outcomes of a run: each replayed line in a file, and totals on the console. No other I/O."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from contracts.topics import INBOUND_TOPICS, TOPICS
from servicekit.log.outcome import Observation, Outcome
from standalone.one_process.replay import RejectedLine, ReplayResult

_INBOUND = frozenset(topic.name for topic in INBOUND_TOPICS)
_NAMES = {"stored": "good", "unchanged": "duplicate", "ignored": "ignored", "parked": "parked"}
"""Name of each kind of outcome in the file."""
FEEDBACK_TYPES = ("implicit", "reaction", "explicit", "inferred")


class Outcomes:
    """Observer that counts the outcomes of events for the summary, and can keep the last outcome of each chat event.

    For a message, this is the outcome in the bridge. For a reply or reaction that the bridge forwards, it is the
    feedback service's outcome for the derived event.

    Args:
        keep: True to keep the outcome of each chat event.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = keep
        self._bridge: dict[str, Outcome] = {}
        self._derived: dict[str, Outcome] = {}
        self.ignored: Counter[str] = Counter()
        self.dead_letters: Counter[str] = Counter()

    def __call__(self, observation: Observation) -> None:
        group, topic, outcome = observation.group, observation.topic, observation.outcome
        if outcome.kind == "dead_lettered":
            self.dead_letters[topic] += 1
        elif outcome.kind == "ignored" and (group == "chat_bridge" or (group == "feedback" and topic not in _INBOUND)):
            self.ignored[outcome.reason] += 1
        if not self._keep:
            return
        if group == "chat_bridge":
            _note(self._bridge, observation.cause, outcome)
        elif group == "feedback" and topic not in _INBOUND:
            _note(self._derived, observation.cause, outcome)

    def of(self, cause: str) -> Outcome | None:
        """Return the last outcome of the chat record at a log position ("topic:partition:offset"), or None."""
        bridge = self._bridge.get(cause)
        return self._derived.get(cause, bridge) if bridge is None or bridge.kind == "stored" else bridge

    def write(self, path: Path, account: ReplayResult) -> None:
        with path.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows(account))

    def rows(self, account: ReplayResult) -> Iterator[dict[str, object]]:
        """Yield a row for each replayed line, in order. Its `fate` is good, duplicate, ignored, parked or bad."""
        rejected = {rejection.line: rejection for rejection in account.rejected}
        places = {line: cause for cause, line in account.places.items()}
        for line in account.seen:
            if line in rejected:
                yield rejected[line].row()
                continue
            row: dict[str, object] = {"file": line.file, "line": line.number}
            match self.of(places[line]):
                case None:
                    yield row | {"fate": "ignored", "reason": "no outcome"}
                case Outcome(kind="dead_lettered") as letter:
                    yield RejectedLine(line, letter.reason, letter.detail).row()
                case outcome:
                    yield row | {"fate": _NAMES[outcome.kind], "reason": outcome.reason}


def _note(noted: dict[str, Outcome], cause: str, outcome: Outcome) -> None:
    """Store an outcome, keeping the first one if a record is delivered again because a commit was lost."""
    if not (outcome.kind == "unchanged" and cause in noted):
        noted[cause] = outcome


class StoredCounts(NamedTuple):
    """Counts of the stored data of all tenants: feedback records by type, parked events, verdicts by kind."""

    feedback: Counter[str]
    parked: int
    verdicts: dict[str, int]


def summary(
    account: ReplayResult, outcomes: Outcomes, produced: Counter[str], stored: StoredCounts, seconds: float
) -> dict[str, Any]:
    """Return the summary of a run that took `seconds`, as a JSON object.

    `feedback`, `parked` and `report` cover all tenants and all data in the state folder. The other sections only cover
    this run.
    """
    return {
        "replayed": {
            "lines": account.lines,
            "events": account.events,
            "rejected": [line.row() for line in account.rejected],
        },
        "topics": {topic.name: produced[topic.name] for topic in TOPICS},
        "feedback": {
            "stored": stored.feedback.total(),
            "by_type": {name: stored.feedback[name] for name in FEEDBACK_TYPES},
        },
        "dead_letters": {topic.name: outcomes.dead_letters[topic.name] for topic in TOPICS},
        "parked": stored.parked,
        "ignored": dict(sorted(outcomes.ignored.items())),
        "report": stored.verdicts,
        "seconds": round(seconds, 3),
    }


def print_summary(console: Console, facts: dict[str, Any]) -> None:
    """Print the summary of a run as a table: input, stored feedback and verdicts."""
    replayed, feedback, report = facts["replayed"], facts["feedback"], facts["report"]
    by_type = feedback["by_type"]
    table = Table(title="Outcome", title_justify="left", show_header=False, pad_edge=False, box=None)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    lines = f"of {replayed['lines']:,} lines, {len(replayed['rejected']):,} rejected"
    table.add_row("chat events published", f"{replayed['events']:,}", lines)
    kinds = ", ".join(f"{by_type[name]:,} {name}" for name in FEEDBACK_TYPES if by_type[name])
    table.add_row("feedback stored", f"{feedback['stored']:,}", kinds)
    table.add_row("feedback.created announced", f"{facts['topics']['feedback.created']:,}", "in this run")
    table.add_row("awaiting their message", f"{facts['parked']:,}", "parked")
    table.add_row("dead letters", f"{sum(facts['dead_letters'].values()):,}", "in this run")
    table.add_row("conversations with a verdict", f"{report['conversations']:,}", "")
    verdicts = f"👍 {report['ok']:,} ok   👎 {report['not_ok']:,} not ok   😐 {report['neutral']:,} neutral"
    table.add_row("verdicts on turns", f"{report['total']:,}", verdicts)
    table.add_row("", "", f"{report['user']:,} by people, {report['machine']:,} inferred from what they wrote next")
    table.add_row("seconds", f"{facts['seconds']:.1f}", "start-up included")
    console.print(table)
