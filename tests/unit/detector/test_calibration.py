"""The confidence of a verdict: its score after a short answer, a fitted share of right verdicts after a long one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector.calibration import KINDS, WEIGHTS, ConfidenceCalibration, Curve
from detector.detector import Detector
from detector.encoders.embedder import WordLlamaEmbedder
from detector.evaluation.rows import neighbourhood
from detector.evidence import Evidence
from detector.intent import IntentModel
from detector.learned import Layer, Opinion
from detector.model import DecidedBy, Feedback, GateCall, Verdict
from detector.rules import Decision
from detector.text import prepare
from detector.verdicts import ranking
from detector.vocabulary import LONG_ANSWER

PHRASES = Path(__file__).parent / "phrases.jsonl"


def decision(feedback: Feedback, by: DecidedBy, score: float, gate: GateCall = "neutral") -> Decision:
    return Decision(feedback, score, None, (), by, gate, "rule.nothing", look_back=True)


@pytest.fixture(scope="module")
def committed() -> ConfidenceCalibration:
    return ConfidenceCalibration.load()


def follows_long_answer(answer: str) -> bool:
    nothing = prepare("")
    return Evidence(nothing, nothing, prepare(answer), (), frozenset(), frozenset()).has_long_answer


def test_a_long_answer_has_forty_words_or_code() -> None:
    code = "Done:\n```python\nprint(1)\n```"
    assert [follows_long_answer(one) for one in ("word " * LONG_ANSWER, code)] == [True, True]
    assert [follows_long_answer(one) for one in ("word " * (LONG_ANSWER - 1), "It opened in 1932.")] == [False, False]


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_of_a_kind_keep_the_order_of_their_scores(committed: ConfidenceCalibration, kind: str) -> None:
    feedback, by = kind.split(".")
    scores = [number / 100 for number in range(1, 100)]
    decided = [decision(feedback, by, score) for score in scores]  # type: ignore[arg-type]  # parts of a kind
    found = [committed.confidence(one) for one in decided]
    assert found == sorted(set(found))
    assert 0 < found[0] < found[-1] < 1
    if feedback == "rejected":
        sides = [
            (score >= ANNOUNCEMENT_THRESHOLD, one >= ANNOUNCEMENT_THRESHOLD)
            for score, one in zip(scores, found, strict=True)
        ]
        assert set(sides) == {(False, False), (True, True)}


@pytest.mark.parametrize(
    "kept",
    [
        decision("rejected", "rules", 0.9, "not_ok"),
        decision("rejected", "rules", 0.68, "not_ok"),
        decision("accepted", "rules", 0.7, "ok"),
        decision("accepted", "learned", 0.83, "ok"),
        decision("accepted", "rules", 0.5)._replace(status_only=True),
    ],
)
def test_rejections_by_rules_approvals_and_topics_keep_their_score(
    committed: ConfidenceCalibration, kept: Decision
) -> None:
    assert committed.confidence(kept) == kept.confidence


def test_a_calibration_that_changes_announcements_is_refused(tmp_path: Path) -> None:
    fine = ConfidenceCalibration({kind: Curve(-0.5, 0.5) for kind in KINDS}, 0.5)
    for wrong in (
        {"curves": {**fine.curves, "rejected.learned": Curve(2.0, 0.5)}},
        {"curves": {**fine.curves, "neutral.rules": Curve(0.0, 0.0)}},
        {"curves": {"neutral.rules": Curve(0.0, 1.0)}},
        {"announced_slope": 0.0},
        {"announced_slope": 1.1},
    ):
        with pytest.raises(ValueError, match=r"must|needs"):
            replace(fine, **wrong)
    stored = json.loads(WEIGHTS.read_text())
    stored["curves"]["neutral.rules"] = [0.0, -1.0]
    (file := tmp_path / "calibration.json").write_text(json.dumps(stored))
    with pytest.raises(ValueError, match="order"):
        ConfidenceCalibration.load(file)


@pytest.mark.parametrize(
    ("score", "confidence"),
    [
        (ANNOUNCEMENT_THRESHOLD, 0.7),
        (0.8, 0.75),
        (1.0, 0.85),
        (0.5, 0.377541),
        (0.0, 0.018828),  # as from 0.001
        (0.001, 0.018828),
    ],
)
def test_a_rejection_is_calibrated_on_its_side_of_the_threshold(score: float, confidence: float) -> None:
    one = ConfidenceCalibration({kind: Curve(-0.5, 0.5) for kind in KINDS}, 0.5)
    assert one.confidence(decision("rejected", "learned", score, "not_ok")) == pytest.approx(confidence, abs=1e-6)


def of(verdict: Verdict) -> tuple[object, ...]:
    one = verdict
    return one.feedback, one.reaction, one.gate, one.status, one.held_back, one.target, one.rules, one.scores["score"]


def test_the_calibration_changes_confidences_and_nothing_else() -> None:
    rows = [json.loads(line) for line in PHRASES.read_text().splitlines()]
    long = [row | {"previous_assistant": f"{row['previous_assistant']}\n```\nx = 1\n```"} for row in rows]
    items = [neighbourhood(row) for row in (*rows, *long)]
    bare = Detector(WordLlamaEmbedder(), Layer.load(), IntentModel.load())
    before, after = bare.judge(items), Detector.default().judge(items)
    assert [of(one) for one in before] == [of(one) for one in after]
    assert all(one.confidence == pytest.approx(one.scores["score"], abs=1e-6) for one in before)
    changed = [left.confidence != right.confidence for left, right in zip(before, after, strict=True)]
    assert not any(changed[: len(rows)])
    assert sum(changed[len(rows) :]) > len(rows) / 3
    assert bare.version != Detector.default().version


def opinion(rejected: float) -> Opinion:
    return Opinion((rejected, 0.0, 0.0, 0.0, 0.0, 1 - rejected), ())


def test_the_ranking_is_the_mean_of_confidence_and_opinion() -> None:
    assert ranking(0.8, None) == 0.8
    assert ranking(0.9, opinion(0.4)) == pytest.approx(0.6)
    assert ranking(0.9, opinion(0.9)) > ranking(0.9, opinion(0.5)) > ranking(0.8, opinion(0.5))


def test_only_rejections_have_a_ranking() -> None:
    said = {"previous_user": "When did it open?", "previous_assistant": "It opened in 1932."}
    rows = [said | {"message": text} for text in ("That's wrong.", "Thanks, that helps a lot!")]
    rejected, accepted = Detector.default().judge([neighbourhood(row) for row in rows])
    assert rejected.scores["ranking"] == pytest.approx((0.9 * rejected.scores["rejected"]) ** 0.5, abs=1e-5)
    assert "ranking" not in accepted.scores
