"""Sample conversations written for this project, so that a demonstration needs no real people's data."""

from __future__ import annotations

import json
from pathlib import Path

from contracts.instants import DAY, parse_instant
from standalone.sample.envelope import Arrival
from standalone.sample.events import arrivals
from standalone.sample.month import Month, month
from standalone.sample.month_script import read_month
from standalone.sample.script import read_script

_ANY = 10_000 * DAY


def write_sample(path: Path, now: int) -> Path:
    """Write the sample's chat events to `path`, one JSON object per line, in order of arrival, and return `path`.

    An existing file is kept, because events with other times would count as new versions of events that were already
    read.

    Args:
        now: Time shortly after the last event, in microseconds since 1970.

    Raises:
        OSError: The file cannot be written.
    """
    if path.exists():
        return path
    text = "".join(json.dumps(one.body, ensure_ascii=False) + "\n" for one in _chat(now))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed only when complete, because an incomplete sample would be kept forever.
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text, encoding="utf-8")
    return unfinished.replace(path)


def month_of(path: Path) -> tuple[Month, int] | None:
    """Return the month of events in a sample file, and the time `now` for which the file was written.

    Returns None for any other file.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open(encoding="utf-8") as file:
        first = json.loads(file.readline() or "{}")
    expected = _chat(_ANY)[0]
    if first.get("eventId") != expected.body["eventId"]:
        return None
    now = _ANY + parse_instant(first["occurredAt"]) - parse_instant(expected.body["occurredAt"])
    return month(read_month(), read_script(), now), now


def _chat(now: int) -> list[Arrival]:
    script = read_script()
    found = [*month(read_month(), script, now).chat, *arrivals(script, now)]
    return sorted(found, key=lambda one: one.at)
