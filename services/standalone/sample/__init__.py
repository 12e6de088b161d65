"""Conversations written for this project, to demonstrate the flow without real people's data."""

from __future__ import annotations

import json
from pathlib import Path

from standalone.sample.events import events
from standalone.sample.script import read_script


def write_sample(path: Path, now: int) -> Path:
    """Write the sample as chat events to `path`, one JSON object per line in order of arrival; return `path`.

    `now` (microseconds since the epoch) is shortly after the last event. An existing file is kept: the events must keep
    their times in one state, or they would count as new versions of themselves. Raises OSError if the file can't be
    written.
    """
    if path.exists():
        return path
    text = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events(read_script(), now))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed only when complete: an incomplete sample would be kept forever.
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text, encoding="utf-8")
    return unfinished.replace(path)
