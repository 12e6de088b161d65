"""Sentences that a detector misreads easily: what may be announced of each kind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from detector.detector import Detector
from detector.evaluation.rows import neighbourhood, read_rows

ROWS = read_rows(Path(__file__).parent / "hard_kinds_dev.jsonl")
#: Kind -> announced reaction, and the least and the most sentences of 20 with it, judged by words.
LIMITS = {
    "sarcasm": ("ok", 0, 2),
    "third thing": ("not_ok", 0, 2),
    "next step": ("not_ok", 0, 1),
    "answer to the agent": ("not_ok", 0, 0),
    "machine text": ("not_ok", 0, 1),
    "polite rejection": ("not_ok", 12, 20),
    "praise and next step": ("ok", 14, 20),
}


@pytest.fixture(scope="module")
def announced(detector: Detector) -> Counter[tuple[str, str | None]]:
    """Return the number of announced reactions by kind."""
    verdicts = detector.judge([neighbourhood(row) for row in ROWS])
    return Counter((row["source"], v.reaction if v.emitted else None) for row, v in zip(ROWS, verdicts, strict=True))


@pytest.mark.parametrize("kind", LIMITS)
def test_as_many_of_a_kind_are_announced_as_stated(kind: str, announced: Counter[tuple[str, str | None]]) -> None:
    reaction, least, most = LIMITS[kind]
    assert least <= announced[kind, reaction] <= most


def test_every_kind_has_20_sentences() -> None:
    assert Counter(row["source"] for row in ROWS) == dict.fromkeys(LIMITS, 20)
