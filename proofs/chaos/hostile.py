"""The lines of the hostile sample as records, if the sample is present."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proofs.chaos.outgoing import Fate, Outgoing
from standalone.one_process.lines import Routed, lines_of, route

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
TENANTS = frozenset({"acme", "globex", ""})
"""Tenants of the sample. Their feedback is compared among store, log and reports, not with the ledger."""

NORMALISED = ("Id is a number", "userType missing", "occurredAt: a number of milliseconds")
"""Ends of the descriptions of lines that the sample calls bad, but that chat topics accept and normalise."""


def hostile(samples: Path = SAMPLES) -> list[Outgoing]:
    """Return every line that can be published, with its expected outcome; empty without the sample."""
    lines, expected = samples / "chat_events_hostile.jsonl", samples / "hostile_expected.json"
    if not lines.is_file() or not expected.is_file():
        return []
    fates = json.loads(expected.read_text())["lines"]
    found = []
    for number, line in lines_of(lines):
        routed = route(line)
        if isinstance(routed, Routed):
            key = routed.key or "none"
            fate = _fate(fates[str(number)])
            found.append(Outgoing(routed.topic, key, routed.value, [], fate, f"hostile {number}", False, 0.0))
    return found


def _fate(line: dict[str, Any]) -> Fate:
    acceptable = {line["class"], *(line.get("also_acceptable") or ())}
    if str(line["what"]).endswith(NORMALISED):
        return "harmless"
    if acceptable == {"bad"}:
        return "hostile"
    return "either" if "bad" in acceptable else "harmless"
