"""Line and column of a value in a TOML text, which `tomllib` does not report."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any


def place_in(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return the line and column of the value at `path` in the TOML `text`, both counted from 1.

    If the value is missing, this is the position of the table that should contain it. The position is found by parsing
    prefixes of the text: the value is at the end of the shortest valid prefix that contains it.
    """
    lines = text.splitlines()
    while path and not _holds(tomllib.loads(text), path):
        path = path[:-1]
    if not path:
        return 1, 1
    last = bisect_left(range(len(lines)), True, key=lambda line: _holds(_longest_toml(lines[: line + 1]), path))
    first = last
    while _toml(lines[:first]) is None:  # inside of a multi-line value
        first -= 1
    line, key = lines[first], path[-1]
    found = line.find(key) if isinstance(key, str) else -1
    return first + 1, (found if found >= 0 else len(line) - len(line.lstrip())) + 1


def _toml(lines: Sequence[str]) -> Any:
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None


def _longest_toml(lines: Sequence[str]) -> Any:
    return next(found for end in range(len(lines), -1, -1) if (found := _toml(lines[:end])) is not None)


def _holds(value: Any, path: Sequence[str | int]) -> bool:
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return False
    return True
