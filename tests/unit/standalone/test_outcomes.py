"""A line's outcome is the last one of its record, and a redelivered record is not a second line."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from contracts.topics import CHAT_MESSAGE, REACTION_RECEIVED, Consumer
from servicekit.log.outcome import Observation, Outcome
from standalone.one_process.outcomes import Outcomes, print_summary
from standalone.one_process.replay import Line, RejectedLine, ReplayResult

MESSAGE, REACTION = "chat.message.ingested", "chat.message.reaction.ingested"


WAITS = Outcome.parked("original_unknown")


Seen = tuple[Consumer, str, Outcome]
"""Group, topic and outcome of an observation."""


def fate(*said: Seen) -> Outcome | None:
    outcomes = Outcomes(keep=True)
    for group, topic, outcome in said:
        outcomes(Observation(group, topic, "chat:0:1", outcome))
    return outcomes.of("chat:0:1")


def test_of_a_message_the_bridges_outcome_counts() -> None:
    assert fate(("inference", MESSAGE, Outcome.UNCHANGED), ("chat_bridge", MESSAGE, Outcome.STORED)) == Outcome.STORED
    assert (
        fate(("chat_bridge", MESSAGE, Outcome.STORED), ("reporting", MESSAGE, Outcome.ignored("x"))) == Outcome.STORED
    )


def test_of_a_forwarded_reaction_the_feedback_services_outcome_counts() -> None:
    derived: Seen = ("feedback", "feedback.reaction.received", Outcome.UNCHANGED)
    assert fate(("chat_bridge", REACTION, Outcome.STORED), derived) == Outcome.UNCHANGED
    assert fate(derived, ("chat_bridge", REACTION, Outcome.STORED)) == Outcome.UNCHANGED


def test_a_parked_event_ends_as_what_it_becomes() -> None:
    released: Seen = ("chat_bridge", REACTION, Outcome.STORED)
    assert fate(("chat_bridge", REACTION, WAITS)) == WAITS
    assert fate(("chat_bridge", REACTION, WAITS), released) == Outcome.STORED
    assert fate(
        ("chat_bridge", REACTION, WAITS), ("chat_bridge", REACTION, Outcome.dead_lettered("old"))
    ) == Outcome.dead_lettered("old")


def test_a_record_that_comes_again_keeps_its_fate() -> None:
    assert fate(("chat_bridge", MESSAGE, Outcome.STORED), ("chat_bridge", MESSAGE, Outcome.UNCHANGED)) == Outcome.STORED
    assert fate(("chat_bridge", MESSAGE, Outcome.UNCHANGED)) == Outcome.UNCHANGED


def test_a_row_says_which_field_broke_its_rule() -> None:
    lines = [Line("chat.jsonl", number) for number in (1, 2)]
    account = ReplayResult(seen=lines, places={f"chat:0:{line.number}": line for line in lines})
    outcomes = Outcomes(keep=True)
    for cause, detail in (("chat:0:1", "content: field required"), ("chat:0:2", "")):
        outcomes(Observation("chat_bridge", MESSAGE, cause, Outcome.dead_lettered("invalid_event", detail)))
    row = {"file": "chat.jsonl", "fate": "bad", "reason": "invalid_event"}
    assert [*outcomes.rows(account)] == [
        row | {"line": 1, "detail": "content: field required"},
        row | {"line": 2},
    ]


@pytest.mark.parametrize(
    ("outcome", "fate", "reason"),
    [
        (Outcome.STORED, "good", ""),
        (Outcome.UNCHANGED, "duplicate", ""),
        (Outcome.ignored("unknown_emoji"), "ignored", "unknown_emoji"),
        (WAITS, "parked", "original_unknown"),
        (Outcome.dead_lettered("invalid_event"), "bad", "invalid_event"),
        (None, "ignored", "no outcome"),
    ],
)
def test_the_row_of_each_outcome(tmp_path: Path, outcome: Outcome | None, fate: str, reason: str) -> None:
    line = Line("grüße.jsonl", 7)
    outcomes = Outcomes(keep=True)
    if outcome is not None:
        outcomes(Observation("chat_bridge", MESSAGE, "chat:0:1", outcome))
    written = tmp_path / "fates.jsonl"
    outcomes.write(written, ReplayResult(seen=[line], places={"chat:0:1": line}))
    assert json.loads(written.read_text("utf-8")) == {
        "file": "grüße.jsonl", "line": 7, "fate": fate, "reason": reason
    }  # fmt: skip
    assert "grüße" in written.read_text("utf-8"), "readable, not escaped"


def test_rows_are_in_the_files_order_and_a_rejected_line_has_one() -> None:
    lines = [Line("a.jsonl", 1), Line("a.jsonl", 2), Line("b.jsonl", 1)]
    rejected = RejectedLine(lines[1], "not JSON", "column 3")
    account = ReplayResult(seen=lines, rejected=[rejected], places={"chat:0:9": lines[0], "chat:0:3": lines[2]})
    outcomes = Outcomes(keep=True)
    for cause in ("chat:0:3", "chat:0:9"):
        outcomes(Observation("chat_bridge", MESSAGE, cause, Outcome.STORED))
    rows = list(outcomes.rows(account))
    assert [(row["file"], row["line"], row["fate"]) for row in rows] == [
        ("a.jsonl", 1, "good"), ("a.jsonl", 2, "bad"), ("b.jsonl", 1, "good")
    ]  # fmt: skip
    assert rows[1]["detail"] == "column 3"


@pytest.mark.parametrize("outcomes", [Outcomes(), Outcomes(keep=True)], ids=["counts", "keeps"])
def test_ignored_records_of_bridge_and_feedback_and_all_dead_letters_are_counted(outcomes: Outcomes) -> None:
    for group in ("chat_bridge", "feedback", "inference", "reporting"):
        outcomes(Observation(group, REACTION_RECEIVED.name, "chat:0:1", Outcome.ignored(f"by {group}")))
        outcomes(Observation(group, MESSAGE, "chat:0:2", Outcome.dead_lettered("invalid_event")))
        outcomes(Observation(group, MESSAGE, "chat:0:3", Outcome.STORED))
    outcomes(Observation("feedback", MESSAGE, "chat:0:4", Outcome.ignored("set_aside_elsewhere")))
    assert outcomes.ignored == Counter({"by chat_bridge": 1, "by feedback": 1})
    assert outcomes.dead_letters == Counter({MESSAGE: 4})


# The table at the end of a run.

NONE: dict[str, int] = {"implicit": 0, "explicit": 0, "reaction": 0, "inferred": 0}


def facts(by_type: dict[str, int]) -> dict[str, Any]:
    verdicts = ("conversations", "total", "ok", "not_ok", "neutral", "user", "machine")
    return {
        "replayed": {"lines": 1, "events": 1, "rejected": []},
        "feedback": {"stored": sum(by_type.values()), "by_type": by_type},
        "topics": {"feedback.created": 0},
        "parked": 0,
        "dead_letters": {},
        "report": dict.fromkeys(verdicts, 0),
        "seconds": 0.1,
    }


def test_every_row_of_the_table() -> None:
    given = facts({**NONE, "explicit": 2}) | {
        "replayed": {"lines": 1_100, "events": 1_050, "rejected": [object()] * 50},
        "topics": {"feedback.created": 17},
        "parked": 3,
        "dead_letters": {"invalid_json": 4, "future": 5},
        "report": {"conversations": 6, "total": 60, "ok": 10, "not_ok": 20, "neutral": 30, "user": 25, "machine": 35},
        "seconds": 12.345,
    }
    written = StringIO()
    print_summary(Console(file=written, width=160), given)
    assert [" ".join(line.split()) for line in written.getvalue().splitlines()] == [
        "Outcome",
        "chat events published 1,050 of 1,100 lines, 50 rejected",
        "feedback stored 2 2 explicit",
        "feedback.created announced 17 in this run",
        "awaiting their message 3 parked",
        "dead letters 9 in this run",
        "conversations with a verdict 6",
        "verdicts on turns 60 👍 10 ok 👎 20 not ok 😐 30 neutral",
        "25 by people, 35 inferred from what they wrote next",
        "seconds 12.3 start-up included",
    ]


# Replay of event files: batches in order, progress in bytes, and an account of each line.


def event(number: int, **more: object) -> str:
    fields = {"tenant": "acme", "project": "support", "conversationId": f"c{number}", **more}
    return json.dumps({"topic": CHAT_MESSAGE.name, "eventId": f"e{number}", **fields})
