"""A line's outcome is the last one of its record, and a redelivered record is not a second line."""

from __future__ import annotations

from servicekit.log.outcome import STORED, UNCHANGED, DeadLettered, Ignored, Observation, Outcome, Parked
from standalone.fates import Outcomes
from standalone.replay import Line, ReplayResult

MESSAGE, REACTION = "chat.message.ingested", "chat.message.reaction.ingested"
WAITS = Parked("original_unknown")


def fate(*said: tuple[str, str, Outcome]) -> Outcome | None:
    outcomes = Outcomes(keep=True)
    for group, topic, outcome in said:
        outcomes(Observation(group, topic, "chat:0:1", outcome))
    return outcomes.of("chat:0:1")


def test_of_a_message_the_bridges_outcome_counts() -> None:
    assert fate(("inference", MESSAGE, UNCHANGED), ("chat_bridge", MESSAGE, STORED)) == STORED
    assert fate(("chat_bridge", MESSAGE, STORED), ("reporting", MESSAGE, Ignored("x"))) == STORED


def test_of_a_forwarded_reaction_the_feedback_services_outcome_counts() -> None:
    derived = ("feedback", "feedback.reaction.received", UNCHANGED)
    assert fate(("chat_bridge", REACTION, STORED), derived) == UNCHANGED
    assert fate(derived, ("chat_bridge", REACTION, STORED)) == UNCHANGED


def test_a_parked_event_ends_as_what_it_becomes() -> None:
    released = ("chat_bridge", REACTION, STORED)
    assert fate(("chat_bridge", REACTION, WAITS)) == WAITS
    assert fate(("chat_bridge", REACTION, WAITS), released) == STORED
    assert fate(("chat_bridge", REACTION, WAITS), ("chat_bridge", REACTION, DeadLettered("old"))) == DeadLettered("old")


def test_a_record_that_comes_again_keeps_its_fate() -> None:
    assert fate(("chat_bridge", MESSAGE, STORED), ("chat_bridge", MESSAGE, UNCHANGED)) == STORED
    assert fate(("chat_bridge", MESSAGE, UNCHANGED)) == UNCHANGED


def test_a_row_says_which_field_broke_its_rule() -> None:
    lines = [Line("chat.jsonl", number) for number in (1, 2)]
    account = ReplayResult(seen=lines, places={f"chat:0:{line.number}": line for line in lines})
    outcomes = Outcomes(keep=True)
    for cause, detail in (("chat:0:1", "content: field required"), ("chat:0:2", "")):
        outcomes(Observation("chat_bridge", MESSAGE, cause, DeadLettered("invalid_event", detail)))
    row = {"file": "chat.jsonl", "fate": "bad", "reason": "invalid_event"}
    assert [*outcomes.fates(account)] == [
        row | {"line": 1, "detail": "content: field required"},
        row | {"line": 2},
    ]
