"""Replay of event files to the log of a running `up`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from contracts.topics import CHAT_MESSAGE
from servicekit.log.topics import partitions_by_topic
from standalone.embedded.memory_broker import MemoryBroker
from standalone.operations.publish import publish


@pytest.mark.parametrize("named", [True, False], ids=["named broker", "broker of the run"])
async def test_a_replay_leaves_no_connection_open(tmp_path: Path, named: bool) -> None:
    file = tmp_path / "events.jsonl"
    event = {"topic": CHAT_MESSAGE.name, "tenant": "acme", "project": "support", "conversationId": "c1"}
    file.write_text(f"{json.dumps(event)}\n[]\n")
    with MemoryBroker(partitions_by_topic()) as broker:
        address = str(broker.bootstrap)
        (tmp_path / "run.json").write_text(json.dumps({"log": "memory", "broker": address, "groups": ["chat_bridge"]}))
        before = asyncio.all_tasks()
        done = await publish([file], address if named else None, tmp_path)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
    assert (done["lines"], done["events"]) == (2, 1)
    assert [(row["line"], row["reason"]) for row in done["rejected"]] == [
        (1, "invalid_event"), (2, "not a JSON object")
    ]  # fmt: skip
