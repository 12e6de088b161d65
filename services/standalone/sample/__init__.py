"""Conversations written for this project, to show the flow without anybody's data."""

from __future__ import annotations

import json
from pathlib import Path

from standalone.sample.events import events
from standalone.sample.script import read_script


def write_sample(path: Path, now: int) -> Path:
    """The sample as a file of chat events at `path`, one JSON object a line in order of arrival; gives `path`.

    `now` (microseconds since the epoch) is shortly after the last of them. A file that is there is left as it is:
    on one state the events must keep their times, or they would count as new versions of themselves.
    Raises OSError where the file can't be written.
    """
    if path.exists():
        return path
    text = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events(read_script(), now))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under its own name only when whole: half a sample would be kept for good.
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text, encoding="utf-8")
    return unfinished.replace(path)
