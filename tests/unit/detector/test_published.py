"""The published accuracy is the one in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contracts.base import Reaction
from contracts.intervals import wilson
from detector.detector import Detector
from detector.explain import explain
from detector.published import PUBLISHED, reactions_below

EVALUATION = Path(__file__).parents[3] / "docs" / "evaluation.md"


#: Verdict -> its column in the table of labelled messages, and its words in the sentence about the labelled turns.
STATED: dict[Reaction, tuple[int, str]] = {
    "not_ok": (5, r"(\d+) of (\d+)\s+announced\s+rejections\s+are\s+right"),
    "ok": (8, r"(\d+) of (\d+)\s+announced\s+ok\s+are\s+right"),
}


@pytest.mark.parametrize("verdict", STATED)
def test_published_figures_are_those_of_the_evaluation_page(verdict: Reaction) -> None:
    page = EVALUATION.read_text()
    column, sentence = STATED[verdict]
    [row] = [line for line in page.splitlines() if line.startswith("| **agents_dev2** |")]
    of_row = re.search(r"(\d+) of (\d+)", row.split("|")[column])
    of_turns = re.search(sentence, page)
    assert of_row and of_turns
    shares = [(int(found[1]), int(found[2])) for found in (of_row, of_turns)]
    assert tuple(map(sum, zip(*shares, strict=True))) == PUBLISHED[verdict]


@pytest.mark.parametrize("reaction", STATED)
def test_a_reaction_is_below_a_target_only_if_its_upper_bound_is(reaction: Reaction) -> None:
    high = wilson(*PUBLISHED[reaction]).high
    assert [reaction in reactions_below(target) for target in (0.7, high, high + 0.001)] == [False, False, True]


def test_a_detector_holds_back_what_falls_short_of_its_target() -> None:
    plain, strict = Detector.default(), Detector.default(target_precision=0.9)
    said, held = (explain("That's wrong.", "when did it open", "It opened in 1932.", one) for one in (plain, strict))
    assert (said.held_back, said.status) == (None, "rejected")
    assert (held.held_back, held.status, held.confidence) == ("below_target", "neutral", said.confidence)
    assert plain.version != strict.version
