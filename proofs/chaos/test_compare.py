"""Each kind of damage is found and described."""

from dataclasses import replace
from uuid import UUID

import pytest

from proofs.chaos.compare import Finding, Observations, Stored, compare
from proofs.chaos.logs import Announced, Letter
from proofs.oracle import Expected, Key, Shown, effective

KEY = Key("t", "p", "c", "api", "ann", "", "turn")
SHOWN = Shown("explicit", True, "ok", 1.0, 5, "turn")
BAD, GOOD = ("topic", 0, 1), ("topic", 0, 2)
EXPECTED = Expected(records={KEY: SHOWN}, letters={BAD}, letter_digests={"bad"}, parked={("t", "p", "e")})
SEEN = Observations(
    stored={KEY: Stored(SHOWN, 7)},
    history={(KEY.feedback_id, 7, True, "ok")},
    announced=[Announced(KEY, KEY.feedback_id, "id", 7, SHOWN)],
    letters=[Letter(BAD, "invalid_json", "bad")],
    parked={("t", "p", "e")},
    people=effective({KEY: SHOWN}),
    machine={},
    messages=set(),
    judged_turns={("t", "p", "c", "turn"): "accepted"},
)
OTHER = SHOWN._replace(reaction="not_ok", value=-1.0)
OLD = Announced(KEY, KEY.feedback_id, "old", 6, OTHER)
FORMER = {(KEY.feedback_id, 6, True, "not_ok"), (KEY.feedback_id, 7, True, "ok")}


def broken(seen: Observations) -> list[Finding]:
    return [finding for finding in compare(EXPECTED, {}, seen) if not finding.holds]


def test_nothing_is_found_where_all_is_well() -> None:
    assert broken(SEEN) == []
    assert broken(replace(SEEN, announced=[OLD, *SEEN.announced], history=FORMER)) == []


@pytest.mark.parametrize(
    ("seen", "promise", "what"),
    [
        (replace(SEEN, stored={}), "P1", "is missing"),
        (replace(SEEN, stored={KEY: Stored(OTHER, 7)}), "P3", "instead there is"),
        (replace(SEEN, announced=[]), "P4", "is missing"),
        (replace(SEEN, history=set()), "P4", "announced and never stored"),
        (replace(SEEN, announced=[*SEEN.announced, OLD], history=FORMER), "P4", "what compaction keeps"),
        (replace(SEEN, announced=[*SEEN.announced, replace(SEEN.announced[0], event_id="other")]), "P4", "two forms"),
        (replace(SEEN, letters=[]), "P5", "is in none"),
        (
            replace(SEEN, letters=[*SEEN.letters, Letter(GOOD, "bug", "good", "inference, KeyError")]),
            "P5",
            "was given up (bug; inference, KeyError)",
        ),
        (replace(SEEN, parked=set()), "P5", "is missing"),
        (replace(SEEN, people={}), "P10", "is missing"),
        (replace(SEEN, machine={UUID(int=1): "ok"}), "P10", "should not be"),
        (replace(SEEN, messages={("t", "p", "c", "m")}), "P10", "should not be"),
        (replace(SEEN, judged_turns={}), "P10", "is missing"),
        (replace(SEEN, judged_turns={("t", "p", "c", "turn"): "rejected"}), "P10", "instead there is"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damage_is_found(seen: Observations, promise: str, what: str) -> None:
    findings = broken(seen)
    assert any(finding.promise == promise and what in finding.first for finding in findings), findings


def test_a_copy_of_poison_that_the_harness_wrote_twice_is_no_extra_letter() -> None:
    assert broken(replace(SEEN, letters=[*SEEN.letters, Letter(GOOD, "invalid_json", "bad")])) == []
