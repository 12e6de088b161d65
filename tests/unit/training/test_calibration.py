"""Fitting of the calibration: shares of right verdicts, weights of owners, and the rows that are left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from detector.calibration import KINDS
from detector.detector import Detector
from detector.vocabulary import LONG_ANSWER
from training.calibration import LEAST_SLOPE, MOST, Judged, fit, judged


def turns(kind: str, score: float, right: int, count: int, owner: str = "ann") -> list[Judged]:
    return [Judged(owner, kind, score, number < right) for number in range(count)]


def test_a_curve_goes_through_the_measured_share() -> None:
    many = [one for owner in "abcdef" for one in turns("neutral.rules", 0.5, 8, 40, owner)]
    assert fit(many).curves["neutral.rules"].at(0.5) == pytest.approx(0.2, abs=0.01)
    some, few = (fit(turns("neutral.rules", 0.5, 0, count)).curves["neutral.rules"].at(0.5) for count in (40, 2))
    assert some < few < 0.5, "a few turns move a curve less"


def test_kinds_without_turns_keep_their_score() -> None:
    found = fit([])
    assert found.announced_slope == 1
    assert {kind: curve.at(0.6) for kind, curve in found.curves.items()} == pytest.approx(dict.fromkeys(KINDS, 0.6))


def test_a_curve_never_reverses_the_order_of_scores() -> None:
    reverse = turns("accepted.learned", 0.9, 0, 40) + turns("accepted.learned", 0.5, 40, 40)
    assert fit(reverse).curves["accepted.learned"].slope == pytest.approx(LEAST_SLOPE)


def test_an_owner_counts_as_a_limited_number_of_turns() -> None:
    one = turns("neutral.rules", 0.5, 10 * MOST, 10 * MOST, "prolific")
    others = [turn for owner in "abcd" for turn in turns("neutral.rules", 0.5, 0, MOST, owner)]
    assert fit(one + others).curves["neutral.rules"].at(0.5) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(("right", "slope"), [(0, LEAST_SLOPE), (80, 0.5), (100, 1.0)])
def test_announced_rejections_have_a_line_above_the_threshold(right: int, slope: float) -> None:
    high = turns("rejected.learned", 0.9, right, 100)
    low = turns("rejected.learned", 0.5, 20, 100, "bob")
    assert fit(high + low).announced_slope == pytest.approx(slope)
    assert fit(high + low).curves == fit(low).curves


def test_short_answers_chinese_turns_and_other_kinds_are_left_out(tmp_path: Path) -> None:
    answer = "I changed the layout of the page. " * (LONG_ANSWER // 4)
    rows = [
        ("and now add a footer with the address", answer, "accepted"),
        ("and now add a footer with the address", "I changed it.", "accepted"),
        ("请把标题改成蓝色", "我已经修改了页面的布局。" * LONG_ANSWER, "accepted"),
        ("That's wrong.", answer, "rejected"),
    ]
    lines = [
        {"source": "ann/page", "label": label, "gate": "neutral", "message": said, "previous_assistant": before}
        for said, before, label in rows
    ]
    (file := tmp_path / "turns.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    detector = Detector.default()
    [found] = judged([file], detector)
    assert found.owner == "ann"
    assert found.kind in KINDS
    assert found.is_right == (found.kind.partition(".")[0] == "accepted")
