"""Columns of each export: exactly those that TRL documents, without unknown values."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from reporting.exports.examples import EXAMPLES, FeedbackCase, Format, person_hash, split_of
from reporting.model.selection import Project

ROW: dict[str, Any] = {
    "feedback_id": UUID(int=1),
    "rn": "ef:acme:support:ann:c1:t1:artifact:1",
    "conversation_id": "c1",
    "turn_id": "t1",
    "agent_id": "bot",
    "agent_version": "7",
    "model": "m",
    "origin": "user",
    "feedback_type": "explicit",
    "confidence": 1.0,
    "occurred_at": 0,
    "reaction": "not_ok",
    "correction": None,
    "text": None,
    "user_id": "ann",
    "value": -1.0,
    "tags": ["wrong"],
    "correction_type": None,
    "emoji": None,
    **dict.fromkeys(("rating", "worst_rating", "best_rating")),
    "detector": None,
    "decided_by": None,
    "language": "de",
}
BEFORE = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
EXCHANGE: dict[str, Any] = {
    "answer_id": "m2", "answer": "At nine.", "question_id": "m1", "question": "When?", "sender_id": None,
    "missing": None,
}  # fmt: skip
ASKED = [*BEFORE, {"role": "user", "content": "When?"}]
HERE = Project("acme", "support")


def case(better: str | None = None, asker_id: str | None = None, **changes: Any) -> FeedbackCase:
    exchange = EXCHANGE | {"sender_id": asker_id, "missing": changes.pop("missing", None)}
    return FeedbackCase(HERE, ROW | changes, exchange, BEFORE, better)


def made(wanted: Format, one: FeedbackCase) -> list[dict[str, Any]]:
    return list(EXAMPLES[wanted](one))


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


@pytest.mark.parametrize(("reaction", "label"), [("ok", True), ("not_ok", False)])
def test_kto_has_a_label(reaction: str, label: bool) -> None:
    [example] = made("kto", case(reaction=reaction))
    assert (example["prompt"], example["completion"], example["label"]) == (
        [*BEFORE, {"role": "user", "content": "When?"}],
        said("At nine."),
        label,
    )


@pytest.mark.parametrize("reaction", ["neutral", None])
def test_kto_leaves_neutral_verdicts_and_replies_out(reaction: str | None) -> None:
    assert made("kto", case(reaction=reaction)) == []


def test_dpo_pairs_a_correction_and_a_later_answer_with_the_rejected_one() -> None:
    pairs = made("dpo", case(correction="At ten.", better="It opens at ten."))
    assert [(one["pair"], one["chosen"], one["rejected"]) for one in pairs] == [
        ("correction", said("At ten."), said("At nine.")),
        ("later_answer", said("It opens at ten."), said("At nine.")),
    ]
    assert made("dpo", case()) == []
    assert made("dpo", case(reaction="ok", correction="At ten.")) == []
    assert made("dpo", case(correction="At nine.")) == [], "nothing to prefer"


def test_sft_takes_accepted_answers_and_corrections() -> None:
    assert [one["completion"] for one in made("sft", case(reaction="ok"))] == [said("At nine.")]
    assert [one["completion"] for one in made("sft", case(correction="At ten."))] == [said("At ten.")]
    both = case(reaction="ok", correction="At ten.")
    assert [one["completion"] for one in made("sft", both)] == [said("At ten.")], "the correction is the better answer"
    assert made("sft", case()) == []
    assert made("sft", case(reaction="neutral")) == []


@pytest.mark.parametrize("wanted", ["kto", "dpo", "sft"])
def test_what_was_erased_or_never_came_makes_no_example(wanted: Format) -> None:
    assert made(wanted, case(missing="answer_empty", correction="At ten.", origin="machine", text="No")) == []


RECORD = {
    "feedback_id": "00000000-0000-0000-0000-000000000001",
    "conversation_id": "c1",
    "turn_id": "t1",
    "agent_id": "bot",
    "agent_version": "7",
    "model": "m",
    "origin": "machine",
    "feedback_type": "inferred",
    "confidence": 0.5,
    "detector": "0.3",
    "decided_by": "rules",
    "ts": "1970-01-01T00:00:01.000000Z",
}


@pytest.mark.parametrize("wanted", ["kto", "dpo", "sft", "events"])
def test_every_example_names_the_record_it_was_made_from(wanted: Format) -> None:
    of: dict[str, Any] = {name: value for name, value in RECORD.items() if name not in ("feedback_id", "ts")} | {
        "occurred_at": 1_000_000
    }
    [example] = made(wanted, case(**of, correction="At ten.", text="No, ten."))
    assert {name: example[name] for name in RECORD} == RECORD


def test_events_have_all_that_was_said() -> None:
    given: dict[str, Any] = {
        "user_id": "ann", "reaction": "not_ok", "value": -0.5, "text": "No.", "tags": ["wrong", "late"],
        "correction": "At ten.", "correction_type": "explicit", "emoji": "x", "rating": 2.0,
        "worst_rating": 1.0, "best_rating": 5.0, "rn": "ef:acme:support:ann:c1:t1:artifact:1",
    }  # fmt: skip
    [example] = made("events", case(**given))
    assert {name: example[name] for name in given} == given
    origin = {"person", "split", "language", "answer_message_id", "question_message_id"}
    assert example.keys() == {*given, *RECORD, *origin}


def test_the_split_follows_who_asked_and_hides_the_person() -> None:
    people = [f"person-{number}" for number in range(1_000)]
    splits = [split_of(person_hash("acme", "support", person)) for person in people]
    assert 700 < splits.count("train") < 900
    assert all(50 < splits.count(name) < 150 for name in ("validation", "test"))
    assert person_hash("acme", "support", "ann") != person_hash("globex", "support", "ann")
    first, second = (made("kto", case(user_id=person, asker_id="eva"))[0] for person in ("ann", "bob"))
    assert first["person"] != second["person"]
    assert "ann" not in str(first)
    assert first["split"] == second["split"] == split_of(person_hash(*HERE, "eva"))
