"""The sample of `up --sample`: valid events, stable ids, times that end now, and every feature."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from contracts.instants import DAY, parse_instant
from contracts.topics import BY_NAME
from standalone.one_process.replay import Routed, route, write_sample

NOW = parse_instant("2026-11-21T00:00:00Z")
Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return read(write_sample(tmp_path_factory.mktemp("sample") / "sample.jsonl", NOW))


def read(path: Path) -> Events:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of(events: Events, topic: str) -> Events:
    return [event for event in events if event["topic"] == topic]


def problem(event: dict[str, Any]) -> str | None:
    body = {name: value for name, value in event.items() if name != "topic"}
    try:
        BY_NAME[event["topic"]].event.model_validate_json(json.dumps(body))
    except ValidationError as error:
        return ".".join(str(part) for part in error.errors()[0]["loc"])
    return None


def unknown_fields(event: dict[str, Any]) -> set[str]:
    fields = BY_NAME[event["topic"]].event.model_fields.values()
    return set(event) - {"topic"} - {str(field.alias) for field in fields}


def test_every_event_but_one_keeps_the_contract(sample: Events) -> None:
    assert [p for event in sample if (p := problem(event))] == ["action"]
    assert not set().union(*(unknown_fields(event) for event in sample))


def test_every_event_can_be_sent_to_its_partition(sample: Events) -> None:
    for event in sample:
        routed = route(json.dumps(event).encode())
        assert isinstance(routed, Routed)
        session = event.get("sessionIdOpaque")
        assert routed.key == (f"demo/{session}" if session else f"demo/support/{event['conversationId']}")


def test_event_ids_are_unique(sample: Events) -> None:
    assert max(Counter(event["eventId"] for event in sample).values()) == 1


def test_another_now_moves_the_times_alone(sample: Events, tmp_path: Path) -> None:
    later = read(write_sample(tmp_path / "later.jsonl", NOW + DAY))
    moments = [parse_instant(event.pop("occurredAt")) for event in later]
    assert moments == [parse_instant(event["occurredAt"]) + DAY for event in sample]
    times = {"occurredAt", "recordedAt"}
    assert [{name: value for name, value in event.items() if name not in times} for event in later] == [
        {name: value for name, value in event.items() if name not in times} for event in sample
    ]


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    path = write_sample(tmp_path / "some" / "state" / "sample.jsonl", NOW)
    before = path.read_bytes()
    assert write_sample(path, NOW + DAY) == path
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["sample.jsonl"]
