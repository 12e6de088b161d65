"""Sample conversations of 30 days, written for this project, so that a demonstration needs no real people's data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from contracts.instants import format_instant, parse_instant

TENANT: Final = "demo"
PROJECT: Final = "support"
_EVENTS: Final = Path(__file__).with_name("sample_events.jsonl")
"""Events in order of arrival, one JSON object per line: those of chats, judgements over HTTP, and session ratings."""
_END: Final = parse_instant("2026-01-31T12:00:00Z")
"""Time shortly after the last event of the file."""
_TIMES: Final = ("occurredAt", "recordedAt")


def write_sample(path: Path, now: int) -> Path:
    """Write the sample's events to `path`, with times that end shortly before `now`, and return `path`.

    An existing file is kept, because events with other times would count as new versions of events that were already
    read.

    Args:
        now: Time in microseconds since 1970.

    Raises:
        OSError: The file cannot be written.
    """
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed only when complete, because an incomplete sample would be kept forever.
    unfinished = path.with_name(path.name + ".part")
    with _EVENTS.open(encoding="utf-8") as events, unfinished.open("w", encoding="utf-8") as shifted:
        for line in events:
            shifted.write(_shifted(line, now - _END))
    return unfinished.replace(path)


def _shifted(line: str, microseconds: int) -> str:
    event = {"tenant": TENANT, **json.loads(line)}
    if "conversationId" in event:  # a session rating belongs to no project
        event["project"] = PROJECT
    event |= {name: format_instant(parse_instant(event[name]) + microseconds) for name in _TIMES if name in event}
    return json.dumps(event, ensure_ascii=False) + "\n"
