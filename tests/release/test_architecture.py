"""No consumer group waits for itself in the in-process log, by the table of services in ARCHITECTURE.md."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

from contracts.topics import BY_NAME

PAGE = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text()


def rows() -> list[list[str]]:
    table = PAGE.partition("## What each service does")[2].partition("\n\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_no_group_waits_for_itself() -> None:
    """A write to the in-process log waits until all readers of its topic have room; in a cycle none would get any."""
    groups = {group.strip("`"): re.findall(r"`([^`]+)`", emits) for _, group, *_, emits in rows() if "`" in group}
    readers = {
        group: {reader for name in emits for reader in BY_NAME[name].consumers} for group, emits in groups.items()
    }
    TopologicalSorter(readers).prepare()
