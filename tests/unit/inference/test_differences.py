"""Differences between two verdicts on a message, and the examples that are shown of them."""

from __future__ import annotations

from collections import Counter

import pytest

from detector.model import Target, Verdict
from inference.differences import SHOWN, AnnouncedVerdict, Differences, Example, difference
from inference.store import MessageKey

OK, NOT_OK, ELSEWHERE = (
    AnnouncedVerdict(*said) for said in (("accepted", "t1"), ("rejected", "t1"), ("rejected", "t2"))
)
KEY = MessageKey("acme", "support", "c1", "m1")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (None, None, "unchanged"),
        (OK, OK, "unchanged"),
        (None, OK, "added"),
        (OK, None, "withdrawn"),
        (OK, NOT_OK, "reversed"),
        (OK, ELSEWHERE, "reversed"),
        (NOT_OK, ELSEWHERE, "moved"),
    ],
)
def test_the_kind_of_each_difference(
    before: AnnouncedVerdict | None, after: AnnouncedVerdict | None, kind: str
) -> None:
    assert difference(before, after) == kind


def added(
    differences: Differences, before: AnnouncedVerdict | None, after: AnnouncedVerdict | None, times: int
) -> None:
    for number in range(times):
        differences.add(Example(KEY, before, after, f"text {number}"))


def test_all_are_counted_and_of_twenty_examples_each_difference_has_its_share() -> None:
    found = Differences()
    added(found, OK, OK, 30)
    added(found, OK, None, 25)
    added(found, None, OK, 3)
    added(found, NOT_OK, ELSEWHERE, 1)
    assert found.judged == 59
    assert found.counts == Counter(unchanged=30, withdrawn=25, added=3, moved=1)
    shown = found.examples()
    assert len(shown) == SHOWN == 20
    assert Counter(kind for kind, _ in shown) == Counter(withdrawn=16, added=3, moved=1)
    assert [kind for kind, _ in shown[:4]] == ["added", "moved", "withdrawn", "added"]
    assert [one.text for kind, one in shown if kind == "withdrawn"] == [f"text {number}" for number in range(16)]


def test_of_one_difference_at_most_twenty_examples_are_kept() -> None:
    found = Differences()
    added(found, OK, None, SHOWN + 1)
    assert (len(found.examples()), len(found.kept["withdrawn"])) == (20, 20)


def test_only_an_announced_verdict_with_a_target_counts() -> None:
    target = Target("t1", "a1", "bot", 0.9, 0.9, 1.0, 1)
    sure = Verdict("rejected", "not_ok", 0.99, "explicit", "No.", target, ("flat_no",), "rules", "neutral")
    assert sure.emitted
    assert AnnouncedVerdict.of(sure) == NOT_OK
    assert (
        AnnouncedVerdict.of(Verdict("rejected", "not_ok", 0.99, "explicit", "No.", None, (), "rules", "neutral"))
        is None
    )
    silent = Verdict("neutral", None, 0.5, None, "No.", target, (), "rules", "neutral")
    assert not silent.emitted
    assert AnnouncedVerdict.of(silent) is None
