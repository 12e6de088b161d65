"""The table of services in ARCHITECTURE.md agrees with the topic table."""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_args

from contracts.topics import BY_NAME, INBOUND_TOPICS, TOPICS, Consumer, consumed_by

PAGE = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text()
SERVICES = {"chat_bridge", "feedback", "inference", "reporting"}


def rows() -> list[list[str]]:
    table = PAGE.partition("## What each service does")[2].partition("\n\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_group_reads_what_the_table_says() -> None:
    shown = {row[1].strip("`"): set(re.findall(r"`([^`]+)`", row[2])) for row in rows() if "HTTP" not in row[1]}
    assert shown == {group: {topic.name for topic in consumed_by(group)} for group in get_args(Consumer)}


def test_every_topic_of_ours_is_emitted_by_its_producer() -> None:
    shown = defaultdict(set)
    for service, *_, emits in rows():
        for topic in re.findall(r"`([^`]+)`", emits):
            shown[topic].add(service)
    ours = {one.name: one.producer for one in TOPICS if one not in INBOUND_TOPICS and ".py" not in one.producer}
    assert dict(shown) == {
        name: SERVICES if who == "all services" else set(who.split(" and ")) for name, who in ours.items()
    }


def test_no_group_waits_for_itself() -> None:
    """A write to the in-process log waits until all readers of its topic have room; in a cycle none would get any."""
    groups = {group.strip("`"): re.findall(r"`([^`]+)`", emits) for _, group, *_, emits in rows() if "`" in group}
    readers = {
        group: {reader for name in emits for reader in BY_NAME[name].consumers} for group, emits in groups.items()
    }
    TopologicalSorter(readers).prepare()


def test_every_handler_is_where_the_table_says() -> None:
    for service, _, _, handlers, *_ in rows():
        for handler in re.findall(r"`([^`]+)`", handlers):
            module, _, name = handler.rpartition(".")
            found = importlib.import_module(f"{service}.{module or name}")
            assert not module or hasattr(found, name)
