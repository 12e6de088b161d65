"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Callable

from detector.explain import render
from detector.model import Verdict

Judge = Callable[[str, str, str], Verdict]


def test_a_rejection_in_words(said: Judge) -> None:
    text = render(said("that's not what I asked", "when did it open", "It is 200 m long."))
    assert text.startswith("The answer is rejected: it is turned down.")
    assert "0.90, announced" in text
    assert "en.not_what_i_asked" in text
    assert "turn previous (1 back)" in text


def test_nothing_said_in_words(said: Judge) -> None:
    text = render(said("", "when did it open", "In 1932."))
    assert text.startswith("Nothing is said about the answer.")
    assert "not announced" in text
