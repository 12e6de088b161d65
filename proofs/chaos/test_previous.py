"""The previous release in a run: the error of a clone without history, and a load without ties."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from proofs.chaos.run import previous_environment
from proofs.chaos.traffic import Traffic
from tests.support import previous_release

HOUR = 3_600_000_000


def test_a_clone_without_history_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(previous_release, "PREVIOUS", ("0" * 40, "v0.0.0"))
    assert previous_environment(tmp_path) is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "v0.0.0" in said and "git fetch --unshallow" in said


@pytest.mark.parametrize("may_tie", [True, False])
def test_events_of_a_conversation_have_one_time_only_if_they_may(may_tie: bool) -> None:
    traffic = Traffic(3, poison=0)
    traffic.may_tie = may_tie
    times: Counter[tuple[str, str]] = Counter()
    events = set()
    for n in range(3_000):
        record = traffic.next(HOUR * 10_000 + n * 3_000)
        event = json.loads(record.value or b"")
        if event["eventId"] not in events and event["project"] == "p1" and event["tenant"] == "north":
            events.add(event["eventId"])
            times[event["conversationId"].removesuffix("-other"), event["occurredAt"]] += 1
    assert (max(times.values()) > 1) is may_tie
