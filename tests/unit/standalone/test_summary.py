"""The table at the end of a run."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from standalone.one_process.summary import print_summary

NONE: dict[str, int] = {"implicit": 0, "explicit": 0, "reaction": 0, "inferred": 0, "rating": 0}


def facts(by_type: dict[str, int], cleared: int) -> dict[str, Any]:
    verdicts = ("conversations", "total", "ok", "not_ok", "neutral", "user", "machine")
    return {
        "replayed": {"lines": 1, "events": 1, "rejected": []},
        "feedback": {"stored": sum(by_type.values()), "by_type": by_type, "cleared": cleared},
        "topics": {"feedback.created": 0},
        "parked": 0,
        "dead_letters": {},
        "report": dict.fromkeys(verdicts, 0),
        "seconds": 0.1,
    }


@pytest.mark.parametrize(
    ("by_type", "cleared", "shown"),
    [
        (NONE, 0, "0  0 cleared"),
        ({**NONE, "reaction": 1_200, "inferred": 3}, 2, "1,203  1,200 reaction, 3 inferred; 2 cleared"),
    ],
)
def test_stored_feedback_is_counted_by_its_kinds(by_type: dict[str, int], cleared: int, shown: str) -> None:
    written = StringIO()
    print_summary(Console(file=written, width=120), facts(by_type, cleared))
    (line,) = [line for line in written.getvalue().splitlines() if line.startswith("feedback stored")]
    assert line.split("feedback stored")[1].strip() == shown


def test_every_row_of_the_table() -> None:
    given = facts({**NONE, "explicit": 2}, 1) | {
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
        "feedback stored 2 2 explicit; 1 cleared",
        "feedback.created announced 17 in this run",
        "awaiting their message 3 parked",
        "dead letters 9 in this run",
        "conversations with a verdict 6",
        "verdicts on turns 60 👍 10 ok 👎 20 not ok 😐 30 neutral",
        "25 by people, 35 inferred from what they wrote next",
        "seconds 12.3 start-up included",
    ]
