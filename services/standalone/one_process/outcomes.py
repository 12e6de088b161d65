"""Outcomes of the replayed lines. No I/O, except for writing the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from contracts.topics import INBOUND_TOPICS
from servicekit.log.outcome import Observation, Outcome
from standalone.one_process.replay import RejectedLine, ReplayResult

_INBOUND = frozenset(topic.name for topic in INBOUND_TOPICS)
_NAMES = {"stored": "good", "unchanged": "duplicate", "ignored": "ignored", "parked": "parked"}
"""Name of each kind of outcome in the file."""


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
