"""The reader on exchanges whose messages differ only in what they say about one answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from detector.detector import Detector
from detector.encoders.choice import sentence_encoder
from detector.evaluation.rows import neighbourhood

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "contrast.jsonl").read_text(encoding="utf-8").splitlines()
]
#: Kind of message -> announced rejections of 41 at most, or at least for kinds that reject.
AT_MOST = {"new_problem": 10, "reversed_request": 3, "next_step": 3}
AT_LEAST = {"polite_rejection": 12, "thanks_and_rejection": 30, "symptom": 30}


@pytest.fixture(scope="module")
def reader() -> Detector:
    encoder = sentence_encoder("auto", print)
    if encoder is None:
        pytest.skip("the sentence encoder is not on this machine")
    return Detector.default(encoder)


def test_the_shares_of_announced_verdicts(reader: Detector) -> None:
    rejected, approved = Counter[str](), Counter[str]()
    for row, verdict in zip(ROWS, reader.judge([neighbourhood(row) for row in ROWS]), strict=True):
        if verdict.emitted:
            (rejected if verdict.reaction == "not_ok" else approved)[row["source"]] += 1
    assert {kind for kind, most in AT_MOST.items() if rejected[kind] > most} == set()
    assert {kind for kind, least in AT_LEAST.items() if rejected[kind] < least} == set()
    assert approved.total() <= 6, approved


def test_a_verdict_is_the_same_alone_and_in_a_batch(reader: Detector) -> None:
    items = [neighbourhood(row) for row in ROWS[:16]]
    assert reader.judge(items) == [reader.judge([item])[0] for item in items]
